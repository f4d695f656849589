variable "environment" {
  description = "The deployment's name, for example dev."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9]{0,11}$", var.environment))
    error_message = "Cannot name the environment. Use 1 to 12 lower-case letters and digits, a letter first."
  }
}

variable "account" {
  description = "The AWS account."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{12}$", var.account))
    error_message = "Cannot name the account. Use its 12 digits."
  }
}

variable "region" {
  description = "The AWS region."
  type        = string

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "Cannot name the region. Use an AWS region such as eu-central-1."
  }
}

variable "topics" {
  description = "The topics' names."
  type        = set(string)

  validation {
    condition     = alltrue([for topic in var.topics : can(regex("^[a-z][a-z0-9_]{0,39}$", topic))])
    error_message = "Cannot name a topic. Use 1 to 40 lower-case letters, digits and underscores, a letter first."
  }

  validation {
    condition     = length(setintersection(var.topics, jsondecode(file("${path.module}/reserved.json")).words)) == 0
    error_message = "Cannot name a topic, SQL or a shared table has the name. Add a noun, for example sensor_<word>."
  }

  validation {
    condition = alltrue([
      for topic in var.topics : alltrue([
        for ending in jsondecode(file("${path.module}/reserved.json")).endings : !endswith(topic, ending)
      ])
    ])
    error_message = "Cannot name a topic, its ending belongs to derived tables and views. Drop _staging or _latest."
  }
}
