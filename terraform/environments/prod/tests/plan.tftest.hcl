mock_provider "aws" {}

variables {
  account  = "123456789012"
  packages = "../../modules/edge/tests/packages"
}

run "prod_is_protected" {
  command = plan

  assert {
    condition     = alltrue([for bucket in module.edge.buckets : !bucket.force_destroy]) && alltrue([for table in module.edge.tables : table.deletion_protection_enabled])
    error_message = "A store of prod could be destroyed with what it holds."
  }

  assert {
    condition     = alltrue([for queue in module.edge.queues : startswith(queue.name, "lean-ops-prod-")])
    error_message = "A queue belongs to another environment."
  }

  assert {
    condition     = alltrue([for function in module.edge.functions : function.reserved_concurrent_executions > 0])
    error_message = "A function of prod has no concurrency of its own: another could take it all."
  }

  # An account keeps 100 of its 1,000 for functions without a reservation.
  assert {
    condition     = sum([for function in module.edge.functions : function.reserved_concurrent_executions]) <= 900
    error_message = "More is reserved than a new account allows."
  }
}
