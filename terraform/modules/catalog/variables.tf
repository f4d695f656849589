variable "databases" {
  description = "The databases' names, by layer."
  type        = map(string)

  validation {
    condition     = alltrue([for name in values(var.databases) : can(regex("^[a-z_]+_db$", name))])
    error_message = "Cannot make the databases. Take their names from the module naming."
  }
}

variable "warehouse" {
  description = "The S3 location under which the tables lie."
  type        = string

  validation {
    condition     = can(regex("^s3://[^/]+/[^/]+$", var.warehouse))
    error_message = "Cannot place the databases. Give s3://<bucket>/<folder>, with no slash at the end."
  }
}
