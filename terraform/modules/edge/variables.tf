variable "environment" {
  description = "The deployment's name, for example dev."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9]{0,11}$", var.environment))
    error_message = "Cannot name the environment. Use 1 to 12 lower-case letters and digits, a letter first."
  }
}

variable "account" {
  description = "The AWS account. The databases' names hold no environment: one account and region per environment."
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
  description = "The topics, by name; maximum_concurrency is how many calls of sqs_processor one topic may take at a time."
  type        = map(object({ maximum_concurrency = optional(number, 2) }))

  validation {
    condition     = alltrue([for topic in keys(var.topics) : can(regex("^[a-z][a-z0-9_]{0,39}$", topic))])
    error_message = "Cannot name a topic. Use 1 to 40 lower-case letters, digits and underscores, a letter first."
  }

  validation {
    condition = alltrue([
      for settings in values(var.topics) : settings.maximum_concurrency >= 2 && settings.maximum_concurrency <= 1000
    ])
    error_message = "Cannot limit a topic so. Use 2 to 1000 calls at a time."
  }
}

variable "packages" {
  description = "The folder with the functions' zips, one <function>.zip each."
  type        = string

  validation {
    condition     = length(var.packages) > 0 && !endswith(var.packages, "/")
    error_message = "Cannot find the zips. Name their folder, with no slash at the end."
  }
}

variable "protected" {
  description = "Whether buckets with objects and tables refuse to be destroyed."
  type        = bool
  default     = true
  nullable    = false
}

variable "emails" {
  description = "Who gets the notifications; each must confirm once."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for address in var.emails : can(regex("^[^@[:space:]]+@[^@[:space:]]+$", address))])
    error_message = "Cannot notify. Give addresses such as lake@example.com."
  }
}

variable "producer_role_arns" {
  description = "Roles, of any account, that send messages to the queues: the bridge from Pub/Sub."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for arn in var.producer_role_arns : can(regex("^arn:aws:iam::[0-9]{12}:role/", arn))])
    error_message = "Cannot let a producer in. Give the ARN of its IAM role."
  }
}

variable "reserved_concurrency" {
  description = "Calls at a time that are reserved, by function; none where it is not named."
  type        = map(number)
  default     = {}

  validation {
    condition     = alltrue([for calls in values(var.reserved_concurrency) : calls >= 1])
    error_message = "Cannot reserve that. Use 1 or more: 0 would stop the function."
  }
}

variable "gcp_project" {
  description = "The GCP project whose topics are listed; null for the service account's own."
  type        = string
  default     = null

  validation {
    condition     = var.gcp_project == null || can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.gcp_project))
    error_message = "Cannot list topics. Give the id of a GCP project."
  }
}

variable "batch_seconds" {
  description = "Seconds for which sqs_processor's batches gather."
  type        = number
  default     = 10

  validation {
    condition     = var.batch_seconds >= 1 && var.batch_seconds <= 300
    error_message = "Cannot gather that long. Use 1 to 300 seconds."
  }
}

variable "topic_error_percent" {
  description = "Percent of a topic's messages that may fail before its circuit opens."
  type        = number
  default     = 50

  validation {
    condition     = var.topic_error_percent >= 1 && var.topic_error_percent < 100
    error_message = "Cannot judge so. Use 1 to 99 percent."
  }
}

variable "log_level" {
  description = "From which level the functions log."
  type        = string
  default     = "INFO"

  validation {
    condition     = contains(["DEBUG", "INFO", "WARNING", "ERROR"], var.log_level)
    error_message = "Cannot log so. Use DEBUG, INFO, WARNING or ERROR."
  }
}

variable "log_days" {
  description = "Days for which logs are kept."
  type        = number
  default     = 365

  validation {
    condition     = contains([30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_days)
    error_message = "Cannot keep a log that long. Use 30, 60, 90, 120, 150, 180, 365, 400, 545 or 731 days."
  }
}

variable "noncurrent_days" {
  description = "Days for which overwritten and deleted objects can be brought back."
  type        = number
  default     = 30

  validation {
    condition     = var.noncurrent_days >= 7
    error_message = "Cannot forget that soon. Keep overwritten objects for 7 days or more."
  }
}

variable "archive_days" {
  description = "Days for which the archive keeps its objects: at least as long as any contract's retention.raw_days, since RAW points to oversized payloads in it."
  type        = number
  default     = 2555

  validation {
    condition     = var.archive_days >= 365
    error_message = "Cannot forget that soon. Keep the archive for 365 days or more, and as long as RAW."
  }
}
