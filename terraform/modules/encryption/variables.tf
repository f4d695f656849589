variable "prefix" {
  description = "What every name of the deployment begins with."
  type        = string

  validation {
    condition     = startswith(var.prefix, "lean-ops-")
    error_message = "Cannot use the prefix. Take it from the module naming."
  }
}

variable "alias" {
  description = "The key's alias."
  type        = string

  validation {
    condition     = startswith(var.alias, "alias/lean-ops-")
    error_message = "Cannot use the alias. Take it from the module naming."
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

variable "producer_role_arns" {
  description = "Roles, of any account, that send messages to the topics' queues."
  type        = set(string)

  validation {
    condition     = alltrue([for arn in var.producer_role_arns : can(regex("^arn:aws:iam::[0-9]{12}:role/", arn))])
    error_message = "Cannot let a producer in. Give the ARN of its IAM role."
  }
}

variable "deletion_window_days" {
  description = "Days between the order to delete the key and its end."
  type        = number

  validation {
    condition     = var.deletion_window_days >= 7 && var.deletion_window_days <= 30
    error_message = "Cannot wait that long. Use 7 to 30 days."
  }
}
