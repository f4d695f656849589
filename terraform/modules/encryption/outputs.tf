output "key_arn" {
  description = "The key's ARN; the alias exists once it is known."
  value       = aws_kms_key.edge.arn
  depends_on  = [aws_kms_alias.edge]
}

output "key" {
  description = "The key."
  value       = aws_kms_key.edge
}
