variable "name" {
  description = "The function's name; its role has the same."
  type        = string

  validation {
    condition     = can(regex("^lean-ops-[a-z0-9]+-[a-z_]+$", var.name)) && length(var.name) <= 64
    error_message = "Cannot name the function. Take its name from the module naming."
  }
}

variable "description" {
  description = "What the function does, in one sentence."
  type        = string

  validation {
    condition     = length(var.description) > 0 && length(var.description) <= 256
    error_message = "Cannot describe the function. Use 1 to 256 characters."
  }
}

variable "handler" {
  description = "The module and function that Lambda calls."
  type        = string

  validation {
    condition     = can(regex("^lambdas\\.[a-z_]+\\.handler\\.handler$", var.handler))
    error_message = "Cannot call the handler. Use lambdas.<name>.handler.handler."
  }
}

variable "package" {
  description = "The path of the function's zip."
  type        = string

  validation {
    condition     = endswith(var.package, ".zip")
    error_message = "Cannot deploy. Give the path of a zip."
  }
}

variable "package_bucket" {
  description = "The bucket to which the zip is uploaded."
  type        = string

  validation {
    condition     = length(var.package_bucket) > 0
    error_message = "Cannot upload. Name a bucket."
  }
}

variable "package_prefix" {
  description = "The folder of that bucket for zips."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+$", var.package_prefix))
    error_message = "Cannot upload. Name a folder in lower-case letters."
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

variable "policy" {
  description = "What the function may do beyond running, as the JSON of an IAM policy."
  type        = string

  validation {
    condition     = can(jsondecode(var.policy).Statement)
    error_message = "Cannot attach the policy. Give an IAM policy as JSON."
  }

  validation {
    # IAM's limit is for all inline policies of a role together.
    condition     = length(var.policy) <= 8192
    error_message = "Cannot attach the policy, it is too long. Name resources by pattern, not one by one."
  }
}

variable "variables" {
  description = "The function's environment variables."
  type        = map(string)

  validation {
    condition = alltrue([
      for name in ["LEANOPS_ENVIRONMENT", "LEANOPS_ACCOUNT", "LEANOPS_REGION"] : contains(keys(var.variables), name)
    ])
    error_message = "Cannot run without its deployment. Set LEANOPS_ENVIRONMENT, LEANOPS_ACCOUNT and LEANOPS_REGION."
  }
}

variable "timeout_seconds" {
  description = "Seconds after which a call is ended."
  type        = number

  validation {
    condition     = var.timeout_seconds >= 1 && var.timeout_seconds <= 900
    error_message = "Cannot run that long. Use 1 to 900 seconds."
  }
}

variable "memory_megabytes" {
  description = "Memory; the share of a processor follows it."
  type        = number

  validation {
    condition     = var.memory_megabytes >= 128 && var.memory_megabytes <= 10240
    error_message = "Cannot have that memory. Use 128 to 10240 MB."
  }
}

variable "reserved_concurrency" {
  description = "Calls at a time that are reserved for the function and that it cannot exceed; -1 for none."
  type        = number

  validation {
    condition     = var.reserved_concurrency == -1 || var.reserved_concurrency >= 1
    error_message = "Cannot reserve that. Use 1 or more, or -1 for no reservation; 0 would stop the function."
  }
}

variable "log_days" {
  description = "Days for which the log is kept."
  type        = number

  validation {
    condition     = contains([30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_days)
    error_message = "Cannot keep a log that long. Use 30, 60, 90, 120, 150, 180, 365, 400, 545 or 731 days."
  }
}

variable "key_arn" {
  description = "The KMS key of zip, variables and log."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "failure_topic_arn" {
  description = "Where an asynchronous call is told of that failed for good; null where the caller waits for the answer."
  type        = string
  default     = null

  validation {
    condition     = var.failure_topic_arn == null || can(regex("^arn:aws:sns:", var.failure_topic_arn))
    error_message = "Cannot tell of failures. Give the ARN of an SNS topic."
  }
}
