variable "names" {
  description = "The tables' names, by noun."
  type        = map(string)

  validation {
    condition = toset(keys(var.names)) == toset([
      "checkpoints", "circuit_breakers", "dlq_index", "idempotency", "locks", "schema_registry",
    ])
    error_message = "Cannot make the tables. Take their names from the module naming."
  }
}

variable "key_arn" {
  description = "The KMS key that encrypts the items."
  type        = string

  validation {
    condition     = startswith(var.key_arn, "arn:aws:kms:")
    error_message = "Cannot encrypt. Give the ARN of a KMS key."
  }
}

variable "protected" {
  description = "Whether the tables refuse to be destroyed."
  type        = bool
  nullable    = false
}
