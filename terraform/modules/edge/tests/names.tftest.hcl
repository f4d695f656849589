# Names are those of leanops.core.naming: tests/terraform/names.json is made from it, and local/bootstrap makes the same.

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

run "names" {
  assert {
    condition = jsonencode({
      buckets            = sort([for bucket in module.storage.buckets : bucket.bucket])
      queues             = sort([for queue in module.topic_queues.queues : queue.name])
      dead_letter_queues = sort([for queue in module.topic_queues.dead_letter_queues : queue.name])
      dynamodb_tables    = sort([for table in module.state.tables : table.name])
      sns_topics         = sort([for topic in module.alarms.topics : topic.name])
      functions          = sort([for function in module.functions.functions : function.function_name])
      event_source_mappings = sort([
        for mapping in concat(values(module.functions.mappings), values(module.functions.dead_letter_mappings)) :
        "${split(":", mapping.event_source_arn)[5]} -> ${mapping.function_name}"
      ])
      subscriptions = [
        "${split(":", module.functions.subscription.topic_arn)[5]} -> ${split(":", module.functions.subscription.endpoint)[6]}",
      ]
      event_rules      = sort([for rule in module.functions.rules : rule.name])
      glue_databases   = sort([for database in module.catalog.databases : database.name])
      delivery_streams = [module.delivery.stream.name]
    }) == jsonencode(jsondecode(file("../../../tests/terraform/names.json")))
    error_message = "A name differs from tests/terraform/names.json. Change leanops.core.naming first, then modules/naming."
  }

  assert {
    condition     = alltrue([for database in module.catalog.databases : database.location_uri == "s3://lean-ops-dev-123456789012-lake/warehouse/${database.name}"])
    error_message = "A database does not lie in the warehouse."
  }

  assert {
    condition = {
      for rule, target in module.functions.targets : rule => target.arn
      } == {
      circuit_probes  = module.functions.arns["circuit_breaker"]
      schema_uploads  = module.functions.arns["schema_validator"]
      topic_discovery = module.functions.arns["topic_discovery"]
    }
    error_message = "A rule calls the wrong function."
  }
}

run "topics_are_named_as_leanops_names_them" {
  command = plan

  module {
    source = "../naming"
  }

  variables {
    topics = ["events", "a", "a23456789_123456789_123456789_123456789_"]
  }

  assert {
    condition     = output.names.queues["a"] == "lean-ops-dev-a" && output.names.dead_letter_queues["events"] == "lean-ops-dev-events-dlq"
    error_message = "A queue is misnamed."
  }
}

run "a_topic_with_a_hyphen_is_refused" {
  command = plan

  module {
    source = "../naming"
  }

  variables {
    topics = ["orders-dlq"]
  }

  expect_failures = [var.topics]
}

run "a_topic_of_41_characters_is_refused" {
  command = plan

  module {
    source = "../naming"
  }

  variables {
    topics = ["a23456789_123456789_123456789_123456789_1"]
  }

  expect_failures = [var.topics]
}

run "a_topic_named_like_a_word_of_sql_is_refused" {
  command = plan

  module {
    source = "../naming"
  }

  variables {
    topics = ["select"]
  }

  expect_failures = [var.topics]
}

run "a_topic_named_like_a_shared_table_is_refused" {
  command = plan

  module {
    source = "../naming"
  }

  variables {
    topics = ["quarantine"]
  }

  expect_failures = [var.topics]
}

run "a_topic_with_a_derived_ending_is_refused" {
  command = plan

  module {
    source = "../naming"
  }

  variables {
    topics = ["orders_staging"]
  }

  expect_failures = [var.topics]
}

run "an_environment_with_a_hyphen_is_refused" {
  command = plan

  variables {
    environment = "dev-2"
  }

  expect_failures = [var.environment]
}
