output "stream" {
  description = "The delivery stream."
  value       = aws_kinesis_firehose_delivery_stream.raw
}

output "policy" {
  description = "What the stream's role may do."
  value       = aws_iam_role_policy.this.policy
}

output "log_group" {
  description = "The stream's log group."
  value       = aws_cloudwatch_log_group.this
}
