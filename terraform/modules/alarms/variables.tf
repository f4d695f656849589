variable "prefix" {
  description = "What every name of the deployment begins with."
  type        = string

  validation {
    condition     = startswith(var.prefix, "lean-ops-")
    error_message = "Cannot use the prefix. Take it from the module naming."
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

variable "notifications" {
  description = "The name of the SNS topic for people."
  type        = string

  validation {
    condition     = endswith(var.notifications, "-notifications")
    error_message = "Cannot notify. Take the name from the module naming."
  }
}

variable "alarms" {
  description = "The name of the SNS topic to which the circuit breaker listens."
  type        = string

  validation {
    condition     = endswith(var.alarms, "-alarms")
    error_message = "Cannot tell the circuit breaker. Take the name from the module naming."
  }
}

variable "emails" {
  description = "Who gets the notifications; each must confirm once."
  type        = set(string)

  validation {
    condition     = alltrue([for address in var.emails : can(regex("^[^@[:space:]]+@[^@[:space:]]+$", address))])
    error_message = "Cannot notify. Give addresses such as lake@example.com."
  }
}

variable "key_arn" {
  description = "The KMS key that encrypts the notifications."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "queues" {
  description = "The queues' names, by topic."
  type        = map(string)

  validation {
    condition     = alltrue([for name in values(var.queues) : !endswith(name, "-dlq")])
    error_message = "Cannot watch the queues. Take their names from the module naming."
  }
}

variable "dead_letter_queues" {
  description = "The dead letter queues' names, by topic."
  type        = map(string)

  validation {
    condition     = toset(keys(var.dead_letter_queues)) == toset(keys(var.queues))
    error_message = "Cannot watch the dead letter queues. Every topic needs a queue and a dead letter queue."
  }
}

variable "functions" {
  description = "The functions' names, by noun."
  type        = map(string)

  validation {
    condition     = length(var.functions) > 0
    error_message = "Cannot watch the functions. Take their names from the module naming."
  }
}

variable "delivery_stream" {
  description = "The delivery stream's name."
  type        = string

  validation {
    condition     = endswith(var.delivery_stream, "-raw")
    error_message = "Cannot watch the delivery. Take the stream's name from the module naming."
  }
}

variable "uploads_rule" {
  description = "The name of the rule that calls schema_validator."
  type        = string

  validation {
    condition     = endswith(var.uploads_rule, "-schema-uploads")
    error_message = "Cannot watch the uploads. Take the rule's name from the module naming."
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

variable "topic_error_messages" {
  description = "Messages in 5 minutes below which a topic is not judged: the last one received may be deleted a moment later."
  type        = number
  default     = 20

  validation {
    condition     = var.topic_error_messages >= 1
    error_message = "Cannot judge so. Use 1 message or more."
  }
}
