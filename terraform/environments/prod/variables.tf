variable "account" {
  description = "The AWS account; any other is refused."
  type        = string

  validation {
    condition     = can(regex("^[0-9]{12}$", var.account))
    error_message = "Cannot name the account. Use its 12 digits."
  }
}

variable "region" {
  description = "The AWS region."
  type        = string
  default     = "eu-central-1"

  validation {
    condition     = can(regex("^[a-z]{2}(-[a-z]+)+-[0-9]$", var.region))
    error_message = "Cannot name the region. Use an AWS region such as eu-central-1."
  }
}

variable "topics_file" {
  description = "The topics file, relative to this folder."
  type        = string
  default     = "../../topics.json"

  validation {
    condition     = endswith(var.topics_file, ".json")
    error_message = "Cannot read the topics. Name a JSON file."
  }
}

variable "packages" {
  description = "The folder with the functions' zips, relative to this one; make package fills it."
  type        = string
  default     = "../../../build/dist/arm64"

  validation {
    condition     = length(var.packages) > 0 && !endswith(var.packages, "/")
    error_message = "Cannot find the zips. Name their folder, with no slash at the end."
  }
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

variable "gcp_project" {
  description = "The GCP project whose topics are listed; null for the service account's own."
  type        = string
  default     = null

  validation {
    condition     = var.gcp_project == null || can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.gcp_project))
    error_message = "Cannot list topics. Give the id of a GCP project."
  }
}
