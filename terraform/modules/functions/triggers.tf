# All mappings are keyed by topic: a new topic adds its own and touches no other.

resource "aws_lambda_event_source_mapping" "topic" {
  for_each = var.queue_arns

  function_name                      = module.function["sqs_processor"].function.function_name
  event_source_arn                   = each.value
  function_response_types            = ["ReportBatchItemFailures"]
  batch_size                         = var.batch_size
  maximum_batching_window_in_seconds = var.batch_seconds

  scaling_config {
    maximum_concurrency = lookup(var.maximum_concurrency, each.key, 2)
  }

  lifecycle {
    # An open circuit disables the mapping. Only circuit_breaker may close it again, not the next apply.
    ignore_changes = [enabled]
  }
}

resource "aws_lambda_event_source_mapping" "dead_letters" {
  for_each = var.dead_letter_queue_arns

  function_name                      = module.function["dlq_drainer"].function.function_name
  event_source_arn                   = each.value
  function_response_types            = ["ReportBatchItemFailures"]
  batch_size                         = 10
  maximum_batching_window_in_seconds = 0

  scaling_config {
    maximum_concurrency = 2
  }
}

locals {
  rules = {
    schema_uploads = {
      function = "schema_validator"
      schedule = null
      pattern = jsonencode({
        source        = ["aws.s3"]
        "detail-type" = ["Object Created"]
        detail = {
          bucket = { name = [var.names.buckets.schemas] }
          object = { key = [{ wildcard = "${var.names.keys.schemas}/*/pending/schema.json" }] }
        }
      })
    }
    circuit_probes = {
      function = "circuit_breaker"
      schedule = var.probe_schedule
      pattern  = null
    }
    topic_discovery = {
      function = "topic_discovery"
      schedule = var.discovery_schedule
      pattern  = null
    }
  }
}

resource "aws_cloudwatch_event_rule" "this" {
  for_each = local.rules

  name                = var.names.rules[each.key]
  description         = "Calls ${each.value.function}"
  event_pattern       = each.value.pattern
  schedule_expression = each.value.schedule
}

resource "aws_cloudwatch_event_target" "this" {
  for_each = local.rules

  rule      = aws_cloudwatch_event_rule.this[each.key].name
  target_id = each.value.function
  arn       = module.function[each.value.function].arn
}

resource "aws_lambda_permission" "rule" {
  for_each = local.rules

  statement_id   = "events"
  function_name  = module.function[each.value.function].function.function_name
  action         = "lambda:InvokeFunction"
  principal      = "events.amazonaws.com"
  source_arn     = aws_cloudwatch_event_rule.this[each.key].arn
  source_account = var.account
}

resource "aws_lambda_permission" "alarms" {
  statement_id   = "sns"
  function_name  = module.function["circuit_breaker"].function.function_name
  action         = "lambda:InvokeFunction"
  principal      = "sns.amazonaws.com"
  source_arn     = var.arns.alarms
  source_account = var.account
}

resource "aws_sns_topic_subscription" "circuit_breaker" {
  topic_arn = var.alarms_topic_arn
  protocol  = "lambda"
  endpoint  = module.function["circuit_breaker"].arn

  depends_on = [aws_lambda_permission.alarms]
}
