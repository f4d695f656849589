output "queues" {
  description = "The queues, by topic."
  value       = aws_sqs_queue.topic
}

output "dead_letter_queues" {
  description = "The dead letter queues, by topic."
  value       = aws_sqs_queue.dead_letters
}

output "policies" {
  description = "The queues' policies, by topic."
  value       = { for topic, policy in aws_sqs_queue_policy.topic : topic => policy.policy }
}

output "redrive_sources" {
  description = "Which queues may send to a dead letter queue, by topic."
  value       = { for topic, allowed in aws_sqs_queue_redrive_allow_policy.this : topic => allowed.redrive_allow_policy }
}
