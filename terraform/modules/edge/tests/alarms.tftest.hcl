# What people and the circuit breaker are told of.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  environment = "dev"
  account     = "123456789012"
  region      = "eu-central-1"
  topics      = { events = {}, orders = {}, payments = {} }
  packages    = "tests/packages"
}

run "alarms" {
  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-dlq-backlog-orders"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["QueueName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/SQS ApproximateNumberOfMessagesVisible lean-ops-dev-orders-dlq Maximum GreaterThanThreshold 1000"]
    error_message = "lean-ops-dev-dlq-backlog-orders does not watch what it should."
  }

  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-dlq-age-warning-orders"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["QueueName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/SQS ApproximateAgeOfOldestMessage lean-ops-dev-orders-dlq Maximum GreaterThanThreshold 86400"]
    error_message = "lean-ops-dev-dlq-age-warning-orders does not watch what it should."
  }

  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-dlq-age-critical-orders"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["QueueName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/SQS ApproximateAgeOfOldestMessage lean-ops-dev-orders-dlq Maximum GreaterThanThreshold 604800"]
    error_message = "lean-ops-dev-dlq-age-critical-orders does not watch what it should."
  }

  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-queue-age-orders"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["QueueName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/SQS ApproximateAgeOfOldestMessage lean-ops-dev-orders Maximum GreaterThanThreshold 86400"]
    error_message = "lean-ops-dev-queue-age-orders does not watch what it should."
  }

  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-delivery-freshness"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["DeliveryStreamName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/Firehose DeliveryToIceberg.DataFreshness lean-ops-dev-raw Maximum GreaterThanThreshold 900"]
    error_message = "lean-ops-dev-delivery-freshness does not watch what it should."
  }

  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-delivery-failures"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["DeliveryStreamName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/Firehose DeliveryToIceberg.FailedRowCount lean-ops-dev-raw Sum GreaterThanThreshold 0"]
    error_message = "lean-ops-dev-delivery-failures does not watch what it should."
  }

  assert {
    condition = [
      for alarm in [module.alarms.alarms["lean-ops-dev-uploads-undelivered"]] :
      "${alarm.namespace} ${alarm.metric_name} ${alarm.dimensions["RuleName"]} ${alarm.statistic} ${alarm.comparison_operator} ${alarm.threshold}"
    ] == ["AWS/Events FailedInvocations lean-ops-dev-schema-uploads Sum GreaterThanThreshold 0"]
    error_message = "lean-ops-dev-uploads-undelivered does not watch what it should."
  }

  assert {
    condition = alltrue([
      for noun in keys(module.functions.functions) : alltrue([
        for alarm in [module.alarms.alarms["lean-ops-dev-function-errors-${noun}"]] :
        alarm.threshold == 5 &&
        one([for query in alarm.metric_query : query.expression if query.id == "failed"]) == "IF(invocations > 0, 100 * errors / invocations, 0)" &&
        { for query in alarm.metric_query : query.id => "${one(query.metric).metric_name} ${one(query.metric).dimensions["FunctionName"]}" if query.id != "failed" } == {
          errors      = "Errors lean-ops-dev-${noun}"
          invocations = "Invocations lean-ops-dev-${noun}"
        }
      ])
    ])
    error_message = "A function's errors over 5 % are not seen."
  }

  assert {
    condition = alltrue([
      for topic in ["events", "orders", "payments"] : alltrue([
        for alarm in [module.alarms.alarms["lean-ops-dev-errors-${topic}"]] :
        alarm.threshold == 50 &&
        one([for query in alarm.metric_query : query.expression if query.id == "failed"]) == "IF(received >= 20, 100 * (received - deleted) / received, 0)" &&
        { for query in alarm.metric_query : query.id => "${one(query.metric).metric_name} ${one(query.metric).dimensions["QueueName"]}" if query.id != "failed" } == {
          deleted  = "NumberOfMessagesDeleted lean-ops-dev-${topic}"
          received = "NumberOfMessagesReceived lean-ops-dev-${topic}"
        }
      ])
    ])
    error_message = "A topic's errors are not seen."
  }

  assert {
    condition = toset([
      for name, alarm in module.alarms.alarms : name
      if toset(alarm.alarm_actions) == toset(["arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-alarms"])
    ]) == toset(["lean-ops-dev-errors-events", "lean-ops-dev-errors-orders", "lean-ops-dev-errors-payments"])
    error_message = "The circuit breaker hears of other alarms than those of topics, or not of all of these."
  }

  assert {
    condition = alltrue([
      for name, alarm in module.alarms.alarms : toset(alarm.alarm_actions) == toset(["arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-notifications"])
      if !startswith(name, "lean-ops-dev-errors-")
    ])
    error_message = "An alarm is told to nobody."
  }

  assert {
    condition     = alltrue([for alarm in module.alarms.alarms : alarm.treat_missing_data == "notBreaching" && can(regex("^(WARNING|CRITICAL) [a-z_]+: .+[.:].+\\.$", alarm.alarm_description))])
    error_message = "An alarm does not say how bad it is and what to do, or cries where nothing happens."
  }

  assert {
    condition     = length(module.alarms.alarms) == 5 * 3 + 7 + 3
    error_message = "There are more or fewer alarms than docs/terraform.md lists."
  }
}

run "an_address_that_is_none_is_refused" {
  command = plan

  variables {
    emails = ["lake at example.com"]
  }

  expect_failures = [var.emails]

}
