output "databases" {
  description = "The databases, by layer."
  value       = aws_glue_catalog_database.this
}
