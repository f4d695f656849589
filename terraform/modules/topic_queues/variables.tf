variable "queues" {
  description = "The queues' names, by topic."
  type        = map(string)

  validation {
    condition     = alltrue([for name in values(var.queues) : length(name) <= 80])
    error_message = "Cannot make a queue, its name is longer than 80 characters. Take it from the module naming."
  }
}

variable "dead_letter_queues" {
  description = "The dead letter queues' names, by topic."
  type        = map(string)

  validation {
    condition     = toset(keys(var.dead_letter_queues)) == toset(keys(var.queues))
    error_message = "Cannot make the queues. Every topic needs a queue and a dead letter queue."
  }
}

variable "key_arn" {
  description = "The KMS key that encrypts the messages."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "producer_role_arns" {
  description = "Roles, of any account, that send messages: the bridge from Pub/Sub."
  type        = set(string)

  validation {
    condition     = alltrue([for arn in var.producer_role_arns : can(regex("^arn:aws:iam::[0-9]{12}:role/", arn))])
    error_message = "Cannot let a producer in. Give the ARN of its IAM role."
  }
}

variable "receives" {
  description = "How often a message is tried before it goes to the dead letter queue."
  type        = number
  default     = 5

  validation {
    condition     = var.receives >= 5 && var.receives <= 1000
    error_message = "Cannot redrive after so few receives. Use 5 or more: throttling uses receives up too."
  }
}

variable "processor_visibility_seconds" {
  description = "Seconds for which a message that sqs_processor holds is hidden from others."
  type        = number

  validation {
    condition     = var.processor_visibility_seconds >= 30 && var.processor_visibility_seconds <= 43200
    error_message = "Cannot hide a message that long. Use 30 to 43200 seconds, six times the function's timeout."
  }
}

variable "drainer_visibility_seconds" {
  description = "Seconds for which a message that dlq_drainer holds is hidden from others."
  type        = number

  validation {
    condition     = var.drainer_visibility_seconds >= 30 && var.drainer_visibility_seconds <= 43200
    error_message = "Cannot hide a message that long. Use 30 to 43200 seconds, six times the function's timeout."
  }
}

variable "data_key_seconds" {
  description = "Seconds for which SQS reuses a data key: with 1,400 queues KMS calls cost more than their messages otherwise."
  type        = number
  default     = 3600

  validation {
    condition     = var.data_key_seconds >= 60 && var.data_key_seconds <= 86400
    error_message = "Cannot reuse a data key that long. Use 60 to 86400 seconds."
  }
}
