output "function" {
  description = "The function."
  value       = aws_lambda_function.this
}

output "arn" {
  description = "The function's ARN."
  value       = aws_lambda_function.this.arn
}

output "log_group" {
  description = "The function's log group."
  value       = aws_cloudwatch_log_group.this
}

output "policies" {
  description = "The role's policies: access, runtime."
  value = {
    access  = aws_iam_role_policy.access.policy
    runtime = aws_iam_role_policy.runtime.policy
  }
}

output "failure_topic_arns" {
  description = "Where asynchronous calls that failed for good are told of."
  value       = [for config in aws_lambda_function_event_invoke_config.this : config.destination_config[0].on_failure[0].destination]
}
