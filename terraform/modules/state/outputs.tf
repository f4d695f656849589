output "tables" {
  description = "The tables, by noun."
  value       = aws_dynamodb_table.this
}
