output "buckets" {
  description = "The buckets, by noun. Closed to the public, encrypted and TLS-only once they are known."
  value       = aws_s3_bucket.this

  depends_on = [
    aws_s3_bucket_ownership_controls.this,
    aws_s3_bucket_policy.this,
    aws_s3_bucket_server_side_encryption_configuration.this,
    aws_s3_bucket_versioning.this,
  ]
}

output "encryption" {
  description = "How each bucket encrypts."
  value       = aws_s3_bucket_server_side_encryption_configuration.this
}

output "policies" {
  description = "Each bucket's policy."
  value       = { for noun, policy in aws_s3_bucket_policy.this : noun => policy.policy }
}

output "versioning" {
  description = "Each bucket's versioning."
  value       = { for noun, versioning in aws_s3_bucket_versioning.this : noun => versioning.versioning_configuration[0].status }
}

output "lifecycles" {
  description = "Each bucket's lifecycle rules."
  value       = { for noun, lifecycle in aws_s3_bucket_lifecycle_configuration.this : noun => lifecycle.rule }
}

output "public_access_blocks" {
  description = "What each bucket refuses to the public."
  value       = aws_s3_bucket_public_access_block.this
}

output "schema_events" {
  description = "Whether the schema bucket tells EventBridge."
  value       = aws_s3_bucket_notification.schemas.eventbridge
}
