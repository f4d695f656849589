# A new topic adds what is its own, and leaves everything else as it is. Objects are compared whole: a replacement makes
# an attribute unknown and a change in place makes one differ, and both fail here.

mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  environment        = "dev"
  account            = "123456789012"
  region             = "eu-central-1"
  topics             = { events = {}, orders = {}, payments = {} }
  packages           = "tests/packages"
  producer_role_arns = ["arn:aws:iam::210987654321:role/bridge"]
}

run "three_topics" {
  assert {
    condition     = length(output.queues) == 3
    error_message = "There are not three topics."
  }
}

run "a_fourth_topic" {
  command = plan

  variables {
    topics = { alerts = { maximum_concurrency = 20 }, events = {}, orders = {}, payments = {} }
  }

  assert {
    condition     = output.delivery_stream == run.three_topics.delivery_stream
    error_message = "The delivery stream is touched: every other topic would wait."
  }

  assert {
    condition     = output.buckets == run.three_topics.buckets
    error_message = "A bucket is touched."
  }

  assert {
    condition     = output.databases == run.three_topics.databases
    error_message = "A database is touched."
  }

  assert {
    condition     = output.functions == run.three_topics.functions
    error_message = "A function is touched."
  }

  assert {
    condition     = output.key == run.three_topics.key
    error_message = "The key is touched."
  }

  assert {
    condition     = output.log_groups == run.three_topics.log_groups
    error_message = "A log group is touched."
  }

  assert {
    condition     = output.policies == run.three_topics.policies
    error_message = "A policy is touched."
  }

  assert {
    condition     = output.rules == run.three_topics.rules
    error_message = "A rule is touched."
  }

  assert {
    condition     = output.sns_topics == run.three_topics.sns_topics
    error_message = "An SNS topic is touched."
  }

  assert {
    condition     = output.tables == run.three_topics.tables
    error_message = "A DynamoDB table is touched."
  }

  assert {
    condition     = alltrue([for name, before in run.three_topics.queues : output.queues[name] == before])
    error_message = "Another topic's queue is touched."
  }

  assert {
    condition     = alltrue([for name, before in run.three_topics.dead_letter_queues : output.dead_letter_queues[name] == before])
    error_message = "Another topic's dead letter queue is touched."
  }

  assert {
    condition     = alltrue([for name, before in run.three_topics.mappings : output.mappings[name] == before])
    error_message = "Another topic's event source mapping is touched."
  }

  assert {
    condition     = alltrue([for name, before in run.three_topics.dead_letter_mappings : output.dead_letter_mappings[name] == before])
    error_message = "Another topic's event source mapping of dead letters is touched."
  }

  assert {
    condition     = alltrue([for name, before in run.three_topics.alarms : output.alarms[name] == before])
    error_message = "Another topic's alarm is touched."
  }

  assert {
    condition = alltrue([
      for made in [output.queues, output.dead_letter_queues, output.mappings, output.dead_letter_mappings] :
      setsubtract(keys(made), ["events", "orders", "payments"]) == toset(["alerts"])
    ])
    error_message = "The new topic lacks something, or something else is new."
  }

  assert {
    condition = setsubtract(keys(output.alarms), keys(run.three_topics.alarms)) == toset([
      "lean-ops-dev-dlq-age-critical-alerts",
      "lean-ops-dev-dlq-age-warning-alerts",
      "lean-ops-dev-dlq-backlog-alerts",
      "lean-ops-dev-errors-alerts",
      "lean-ops-dev-queue-age-alerts",
    ])
    error_message = "The new topic is not watched like the others."
  }

  assert {
    condition     = module.functions.mappings["alerts"].scaling_config[0].maximum_concurrency == 20
    error_message = "The topic's own setting is not used."
  }
}
