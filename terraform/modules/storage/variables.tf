variable "buckets" {
  description = "The buckets' names: lake, schemas, archive."
  type        = map(string)

  validation {
    condition     = toset(keys(var.buckets)) == toset(["archive", "lake", "schemas"])
    error_message = "Cannot make the buckets. Name lake, schemas and archive, and nothing else."
  }

  validation {
    condition     = alltrue([for name in values(var.buckets) : length(name) <= 63])
    error_message = "Cannot make a bucket, its name is longer than 63 characters. Shorten the environment's name."
  }
}

variable "key_arn" {
  description = "The KMS key that encrypts the objects."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "protected" {
  description = "Whether a bucket that holds objects refuses to be destroyed."
  type        = bool
  nullable    = false
}

variable "noncurrent_days" {
  description = "Days for which overwritten and deleted objects can be brought back."
  type        = number

  validation {
    condition     = var.noncurrent_days >= 7
    error_message = "Cannot forget that soon. Keep overwritten objects for 7 days or more."
  }
}

variable "archive_days" {
  description = "Days for which the archive keeps its objects. RAW points to oversized payloads in it: at least as long as any contract's retention.raw_days."
  type        = number

  validation {
    condition     = var.archive_days >= 365
    error_message = "Cannot forget that soon. Keep the archive for 365 days or more, and as long as RAW."
  }
}
