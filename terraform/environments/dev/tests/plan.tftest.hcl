mock_provider "aws" {}

variables {
  account  = "123456789012"
  packages = "../../modules/edge/tests/packages"
}

run "the_topics_file_drives_the_plan" {
  command = plan

  assert {
    condition     = toset(keys(module.edge.queues)) == toset(keys(jsondecode(file("../../topics.json")).topics))
    error_message = "Not every topic of the topics file has a queue, or others have one."
  }

  assert {
    condition     = alltrue([for queue in module.edge.queues : startswith(queue.name, "lean-ops-dev-")])
    error_message = "A queue belongs to another environment."
  }
}

run "dev_may_be_thrown_away" {
  command = plan

  assert {
    condition     = alltrue([for bucket in module.edge.buckets : bucket.force_destroy])
    error_message = "A bucket of dev refuses to go."
  }
}

run "a_folder_that_ends_in_a_slash_is_refused" {
  command = plan

  variables {
    packages = "../../../build/dist/"
  }

  expect_failures = [var.packages]
}
