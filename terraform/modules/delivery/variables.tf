variable "name" {
  description = "The stream's name; its role has the same."
  type        = string

  validation {
    condition     = can(regex("^lean-ops-[a-z0-9]+-raw$", var.name))
    error_message = "Cannot name the stream. Take its name from the module naming."
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

variable "catalog_arn" {
  description = "The Glue catalog."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:glue:.*:catalog$", var.catalog_arn))
    error_message = "Cannot find the catalog. Give its ARN."
  }
}

variable "database_arn" {
  description = "The Glue database of RAW."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:glue:.*:database/", var.database_arn))
    error_message = "Cannot find the database. Give its ARN."
  }
}

variable "tables_arn" {
  description = "The tables of RAW, as an ARN that ends in a wildcard."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:glue:.*:table/[a-z_]+/\\*$", var.tables_arn))
    error_message = "Cannot find the tables. Give arn:…:table/<database>/*."
  }
}

variable "lake_bucket_arn" {
  description = "The bucket that holds the tables."
  type        = string

  validation {
    condition     = startswith(var.lake_bucket_arn, "arn:aws:s3:::")
    error_message = "Cannot find the lake. Give the bucket's ARN."
  }
}

variable "tables_prefix" {
  description = "The folder of the lake under which RAW's tables lie."
  type        = string

  validation {
    condition     = can(regex("^[a-z_]+/[a-z_]+$", var.tables_prefix))
    error_message = "Cannot find the tables. Give <warehouse>/<database>."
  }
}

variable "error_bucket_arn" {
  description = "The bucket for what could not be delivered."
  type        = string

  validation {
    condition     = startswith(var.error_bucket_arn, "arn:aws:s3:::")
    error_message = "Cannot keep what failed. Give the bucket's ARN."
  }
}

variable "error_prefix" {
  description = "The folder of that bucket for what could not be delivered."
  type        = string

  validation {
    condition     = can(regex("^[a-z-]+$", var.error_prefix))
    error_message = "Cannot keep what failed. Give a folder, with no slash."
  }
}

variable "transform_arn" {
  description = "The function that names each record's table."
  type        = string

  validation {
    condition     = can(regex("^arn:aws:lambda:.*:function:[a-z0-9_-]+$", var.transform_arn))
    error_message = "Cannot transform. Give the function's ARN, without a version."
  }
}

variable "key_arn" {
  description = "The KMS key of stream, objects and log."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "retry_seconds" {
  description = "Seconds for which a commit is retried before the records go to the error prefix."
  type        = number
  default     = 3600

  validation {
    condition     = var.retry_seconds >= 0 && var.retry_seconds <= 7200
    error_message = "Cannot retry that long. Use 0 to 7200 seconds."
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
