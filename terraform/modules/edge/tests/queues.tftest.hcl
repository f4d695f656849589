# Nothing is dropped before 14 days, and what failed five times waits in the dead letter queue.

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

run "queues" {
  assert {
    condition     = alltrue([for queue in concat(values(module.topic_queues.queues), values(module.topic_queues.dead_letter_queues)) : queue.message_retention_seconds == 1209600])
    error_message = "A queue drops messages before 14 days."
  }

  assert {
    condition     = alltrue([for queue in concat(values(module.topic_queues.queues), values(module.topic_queues.dead_letter_queues)) : queue.max_message_size == 1048576])
    error_message = "A queue refuses messages below 1 MiB."
  }

  assert {
    condition = alltrue([
      for topic, queue in module.topic_queues.queues : jsondecode(queue.redrive_policy) == {
        deadLetterTargetArn = module.topic_queues.dead_letter_queues[topic].arn
        maxReceiveCount     = 5
      }
    ])
    error_message = "A queue does not redrive to its own dead letter queue after five receives."
  }

  assert {
    condition = alltrue([
      for topic, allowed in module.topic_queues.redrive_sources : jsondecode(allowed) == {
        redrivePermission = "byQueue"
        sourceQueueArns   = [module.topic_queues.queues[topic].arn]
      }
    ])
    error_message = "A dead letter queue takes messages of other queues."
  }

  assert {
    condition = alltrue([
      for topic, mapping in merge(module.functions.mappings, { for topic, mapping in module.functions.dead_letter_mappings : "${topic}-dlq" => mapping }) :
      toset(mapping.function_response_types) == toset(["ReportBatchItemFailures"])
    ])
    error_message = "A mapping deletes the failed messages of a batch with the others."
  }

  assert {
    condition = alltrue([
      for queue in module.topic_queues.queues : queue.visibility_timeout_seconds >=
      6 * module.functions.functions["sqs_processor"].timeout + module.functions.mappings["events"].maximum_batching_window_in_seconds
    ])
    error_message = "A message may come again while sqs_processor still holds it."
  }

  assert {
    condition = alltrue([
      for queue in module.topic_queues.dead_letter_queues : queue.visibility_timeout_seconds >= 6 * module.functions.functions["dlq_drainer"].timeout
    ])
    error_message = "A dead letter may come again while dlq_drainer still holds it."
  }

  assert {
    condition     = alltrue([for mapping in module.functions.mappings : mapping.batch_size == 500 && one(mapping.scaling_config).maximum_concurrency == 2])
    error_message = "A mapping's batches or concurrency are not those agreed."
  }
}

run "topics_that_may_outrun_the_reservation_are_told_of" {
  command = plan

  variables {
    topics               = { events = { maximum_concurrency = 400 }, orders = { maximum_concurrency = 200 }, payments = {} }
    reserved_concurrency = { sqs_processor = 500 }
  }

  expect_failures = [check.reserved_concurrency]
}

run "what_the_topics_file_says_besides_is_left_alone" {
  command = plan

  variables {
    topics = {
      events   = { source = "projects/p/topics/events", status = "onboarded" }
      orders   = { source = "projects/p/topics/orders", status = "discovered", maximum_concurrency = 4 }
      payments = {}
    }
  }

  assert {
    condition     = { for topic, mapping in module.functions.mappings : topic => one(mapping.scaling_config).maximum_concurrency } == { events = 2, orders = 4, payments = 2 }
    error_message = "The file that topic_discovery writes is misread."
  }
}
