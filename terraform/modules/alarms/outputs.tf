output "topics" {
  description = "The SNS topics: notifications, alarms."
  value       = aws_sns_topic.this
}

output "alarms" {
  description = "Every alarm, by name."
  value = {
    for alarm in concat(
      values(aws_cloudwatch_metric_alarm.queue),
      values(aws_cloudwatch_metric_alarm.topic_errors),
      values(aws_cloudwatch_metric_alarm.function_errors),
      [
        aws_cloudwatch_metric_alarm.delivery_freshness,
        aws_cloudwatch_metric_alarm.delivery_failures,
        aws_cloudwatch_metric_alarm.uploads_undelivered,
      ],
    ) : alarm.alarm_name => alarm
  }
}
