output "functions" {
  description = "The functions, by noun."
  value       = { for noun, made in module.function : noun => made.function }
}

output "arns" {
  description = "The functions' ARNs, by noun."
  value       = { for noun, made in module.function : noun => made.arn }
}

output "policies" {
  description = "The policies of each function's role."
  value       = { for noun, made in module.function : noun => made.policies }
}

output "log_groups" {
  description = "The functions' log groups, by noun."
  value       = { for noun, made in module.function : noun => made.log_group }
}

output "failure_topic_arns" {
  description = "Where asynchronous calls that failed for good are told of, by function."
  value       = { for noun, made in module.function : noun => made.failure_topic_arns }
}

output "mappings" {
  description = "From the topics' queues to sqs_processor, by topic."
  value       = aws_lambda_event_source_mapping.topic
}

output "dead_letter_mappings" {
  description = "From the dead letter queues to dlq_drainer, by topic."
  value       = aws_lambda_event_source_mapping.dead_letters
}

output "rules" {
  description = "What calls functions by event or by the clock."
  value       = aws_cloudwatch_event_rule.this
}

output "targets" {
  description = "Which function each rule calls."
  value       = aws_cloudwatch_event_target.this
}

output "subscription" {
  description = "From the alarms' topic to the circuit breaker."
  value       = aws_sns_topic_subscription.circuit_breaker
}
