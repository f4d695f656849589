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

variable "names" {
  description = "Names from the module naming."
  type = object({
    buckets    = map(string)
    functions  = map(string)
    gcp_secret = string
    keys       = map(string)
    rules      = map(string)
  })

  validation {
    condition     = length(var.names.functions) == 7
    error_message = "Cannot make the functions. Take their names from the module naming."
  }
}

variable "arns" {
  description = "ARNs from the module naming, for policies."
  type = object({
    alarms                 = string
    buckets                = map(string)
    catalog                = string
    databases              = map(string)
    delivery_stream        = string
    event_source_mappings  = string
    every_dead_letters     = string
    every_queue            = string
    functions              = map(string)
    notifications          = string
    tables                 = map(string)
    tables_of_the_database = map(string)
  })

  validation {
    condition     = endswith(var.arns.every_dead_letters, "-*-dlq")
    error_message = "Cannot write the policies. Take the ARNs from the module naming."
  }
}

variable "key_arn" {
  description = "The KMS key of everything that the functions meet."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "alarms_topic_arn" {
  description = "The SNS topic to which the circuit breaker listens, once it exists."
  type        = string

  validation {
    condition     = startswith(var.alarms_topic_arn, "arn:aws:sns:")
    error_message = "Cannot listen to alarms. Give the ARN of an SNS topic."
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

variable "queue_arns" {
  description = "The topics' queues, by topic."
  type        = map(string)

  validation {
    condition     = alltrue([for arn in values(var.queue_arns) : startswith(arn, "arn:aws:sqs:")])
    error_message = "Cannot read a queue. Give the ARNs of SQS queues."
  }
}

variable "dead_letter_queue_arns" {
  description = "The topics' dead letter queues, by topic."
  type        = map(string)

  validation {
    condition     = toset(keys(var.dead_letter_queue_arns)) == toset(keys(var.queue_arns))
    error_message = "Cannot drain. Every topic needs a queue and a dead letter queue."
  }
}

variable "maximum_concurrency" {
  description = "Calls of sqs_processor at a time for one topic, by topic; 2, the least that Lambda allows, where none is named."
  type        = map(number)
  default     = {}

  validation {
    condition     = alltrue([for calls in values(var.maximum_concurrency) : calls >= 2 && calls <= 1000])
    error_message = "Cannot limit a topic so. Use 2 to 1000 calls at a time."
  }
}

variable "reserved_concurrency" {
  description = "Calls at a time that are reserved, by function; none where it is not named."
  type        = map(number)
  default     = {}

  validation {
    condition     = length(setsubtract(keys(var.reserved_concurrency), keys(var.names.functions))) == 0
    error_message = "Cannot reserve for a function that is not there. Use the functions' nouns, such as sqs_processor."
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

variable "batch_size" {
  description = "Messages, at most, in one call of sqs_processor; 6 MB are the other limit."
  type        = number
  default     = 500

  validation {
    condition     = var.batch_size >= 1 && var.batch_size <= 10000
    error_message = "Cannot take such batches. Use 1 to 10000 messages."
  }
}

variable "batch_seconds" {
  description = "Seconds for which sqs_processor's batches gather. RAW is read every 15 minutes: it may wait, and waiting saves calls."
  type        = number
  default     = 10

  validation {
    condition     = var.batch_seconds >= 1 && var.batch_seconds <= 300
    error_message = "Cannot gather that long. Use 1 to 300 seconds; batches of more than 10 messages need at least 1."
  }
}

variable "probe_schedule" {
  description = "When open circuits are probed."
  type        = string
  default     = "rate(1 minute)"

  validation {
    condition     = can(regex("^(rate|cron)\\(.+\\)$", var.probe_schedule))
    error_message = "Cannot schedule. Use rate(…) or cron(…)."
  }
}

variable "discovery_schedule" {
  description = "When Pub/Sub is asked for new topics."
  type        = string
  default     = "rate(1 hour)"

  validation {
    condition     = can(regex("^(rate|cron)\\(.+\\)$", var.discovery_schedule))
    error_message = "Cannot schedule. Use rate(…) or cron(…)."
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
  description = "Days for which the logs are kept."
  type        = number

  validation {
    condition     = contains([30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_days)
    error_message = "Cannot keep a log that long. Use 30, 60, 90, 120, 150, 180, 365, 400, 545 or 731 days."
  }
}
