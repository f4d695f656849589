resource "aws_sns_topic" "this" {
  for_each = { notifications = var.notifications, alarms = var.alarms }

  name              = each.value
  kms_master_key_id = var.key_arn
}

resource "aws_sns_topic_policy" "this" {
  for_each = aws_sns_topic.this

  arn = each.value.arn

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "Alarms"
        Effect    = "Allow"
        Principal = { Service = "cloudwatch.amazonaws.com" }
        Action    = "sns:Publish"
        Resource  = each.value.arn
        Condition = { StringEquals = { "aws:SourceAccount" = var.account } }
      },
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sns:Publish"
        Resource  = each.value.arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}

resource "aws_sns_topic_subscription" "email" {
  for_each = var.emails

  topic_arn = aws_sns_topic.this["notifications"].arn
  protocol  = "email"
  endpoint  = each.value
}

locals {
  people = [aws_sns_topic.this["notifications"].arn]
  day    = 24 * 60 * 60

  of_queues = merge([
    for topic, queue in var.dead_letter_queues : {
      "dlq-backlog-${topic}" = {
        queue       = queue
        metric      = "ApproximateNumberOfMessagesVisible"
        threshold   = 1000
        description = "WARNING ${topic}: more than 1,000 dead letters wait. dlq_drainer does not keep up or fails: read its log."
      }
      "dlq-age-warning-${topic}" = {
        queue       = queue
        metric      = "ApproximateAgeOfOldestMessage"
        threshold   = local.day
        description = "WARNING ${topic}: a dead letter has waited for more than 24 hours. Read dlq_drainer's log."
      }
      "dlq-age-critical-${topic}" = {
        queue       = queue
        metric      = "ApproximateAgeOfOldestMessage"
        threshold   = 7 * local.day
        description = "CRITICAL ${topic}: a dead letter has waited for more than 7 days. SQS drops it 14 days after it was sent: archive it by hand."
      }
      "queue-age-${topic}" = {
        queue       = var.queues[topic]
        metric      = "ApproximateAgeOfOldestMessage"
        threshold   = local.day
        description = "WARNING ${topic}: a message has waited for more than 24 hours. Is the circuit open? SQS drops it after 14 days."
      }
    }
  ]...)
}

resource "aws_cloudwatch_metric_alarm" "queue" {
  for_each = local.of_queues

  alarm_name          = "${var.prefix}-${each.key}"
  alarm_description   = each.value.description
  namespace           = "AWS/SQS"
  metric_name         = each.value.metric
  dimensions          = { QueueName = each.value.queue }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = each.value.threshold
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.people
  ok_actions          = local.people
}

# Received and not deleted means failed, whatever the cause: a refusal downstream, a crash, a timeout. Counters of the
# function's own would miss the last two, and cost more for 700 topics than all other alarms together.
resource "aws_cloudwatch_metric_alarm" "topic_errors" {
  for_each = var.queues

  alarm_name          = "${var.prefix}-errors-${each.key}"
  alarm_description   = "CRITICAL ${each.key}: of the messages received, more than ${var.topic_error_percent} % were not delivered. circuit_breaker stops the topic; read sqs_processor's log."
  evaluation_periods  = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = var.topic_error_percent
  treat_missing_data  = "notBreaching"
  alarm_actions       = [aws_sns_topic.this["alarms"].arn]

  metric_query {
    id          = "failed"
    label       = "Messages not delivered, %"
    expression  = "IF(received >= ${var.topic_error_messages}, 100 * (received - deleted) / received, 0)"
    return_data = true
  }

  dynamic "metric_query" {
    for_each = { received = "NumberOfMessagesReceived", deleted = "NumberOfMessagesDeleted" }

    content {
      id = metric_query.key

      metric {
        namespace   = "AWS/SQS"
        metric_name = metric_query.value
        dimensions  = { QueueName = each.value }
        stat        = "Sum"
        period      = 300
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "function_errors" {
  for_each = var.functions

  alarm_name          = "${var.prefix}-function-errors-${each.key}"
  alarm_description   = "WARNING ${each.key}: more than 5 % of its calls end in an error. Read its log."
  evaluation_periods  = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 5
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.people
  ok_actions          = local.people

  metric_query {
    id          = "failed"
    label       = "Calls that end in an error, %"
    expression  = "IF(invocations > 0, 100 * errors / invocations, 0)"
    return_data = true
  }

  dynamic "metric_query" {
    for_each = { errors = "Errors", invocations = "Invocations" }

    content {
      id = metric_query.key

      metric {
        namespace   = "AWS/Lambda"
        metric_name = metric_query.value
        dimensions  = { FunctionName = each.value }
        stat        = "Sum"
        period      = 300
      }
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "delivery_freshness" {
  alarm_name          = "${var.prefix}-delivery-freshness"
  alarm_description   = "CRITICAL delivery: the oldest record has waited for more than 15 minutes. Read the stream's log; nothing is lost, producers are throttled next."
  namespace           = "AWS/Firehose"
  metric_name         = "DeliveryToIceberg.DataFreshness"
  dimensions          = { DeliveryStreamName = var.delivery_stream }
  statistic           = "Maximum"
  period              = 300
  evaluation_periods  = 2
  comparison_operator = "GreaterThanThreshold"
  threshold           = 900
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.people
  ok_actions          = local.people
}

resource "aws_cloudwatch_metric_alarm" "delivery_failures" {
  alarm_name          = "${var.prefix}-delivery-failures"
  alarm_description   = "CRITICAL delivery: records went to the error prefix of the archive instead of RAW. Mend the table, then deliver them again."
  namespace           = "AWS/Firehose"
  metric_name         = "DeliveryToIceberg.FailedRowCount"
  dimensions          = { DeliveryStreamName = var.delivery_stream }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.people
}

resource "aws_cloudwatch_metric_alarm" "uploads_undelivered" {
  alarm_name          = "${var.prefix}-uploads-undelivered"
  alarm_description   = "WARNING contracts: EventBridge could not call schema_validator. Upload the contract to pending/ again."
  namespace           = "AWS/Events"
  metric_name         = "FailedInvocations"
  dimensions          = { RuleName = var.uploads_rule }
  statistic           = "Sum"
  period              = 300
  evaluation_periods  = 1
  comparison_operator = "GreaterThanThreshold"
  threshold           = 0
  treat_missing_data  = "notBreaching"
  alarm_actions       = local.people
}
