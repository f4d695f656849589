# Buckets and tables: what can be brought back, and for how long.

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

run "stores" {
  assert {
    condition     = alltrue([for status in module.storage.versioning : status == "Enabled"])
    error_message = "A bucket does not keep versions."
  }

  assert {
    condition     = alltrue([for block in module.storage.public_access_blocks : block.block_public_acls && block.block_public_policy && block.ignore_public_acls && block.restrict_public_buckets])
    error_message = "A bucket may become public."
  }

  assert {
    condition     = module.storage.schema_events
    error_message = "Uploads of contracts are not told to EventBridge."
  }

  assert {
    condition = alltrue([
      for noun in ["lake", "schemas"] : alltrue([for rule in module.storage.lifecycles[noun] : length(rule.expiration) == 0 && length(rule.transition) == 0])
    ])
    error_message = "The clock ends files of the lake or contracts."
  }

  assert {
    condition = alltrue([
      for rules in module.storage.lifecycles : one(flatten([for rule in rules : [for expiration in rule.noncurrent_version_expiration : expiration.noncurrent_days]])) == 30
    ])
    error_message = "Overwritten objects can't be brought back for 30 days."
  }

  assert {
    condition     = one(flatten([for rule in module.storage.lifecycles["archive"] : [for expiration in rule.expiration : expiration.days]])) == 2555
    error_message = "The archive does not keep objects as long as RAW points to them."
  }

  assert {
    condition = jsonencode({
      for noun, table in module.state.tables : noun => join(" ", concat(
        [table.hash_key],
        [for attribute in table.attribute : attribute.name if attribute.name != table.hash_key],
        [for ttl in table.ttl : "until ${ttl.attribute_name}" if ttl.enabled],
      ))
      }) == jsonencode({
      checkpoints      = "pipeline_id checkpoint_type until expires_at"
      circuit_breakers = "name"
      dlq_index        = "topic_name entry until expires_at"
      idempotency      = "id until expiration"
      locks            = "lock_id until expires_at"
      schema_registry  = "topic_name"
    })
    error_message = "A DynamoDB table's key or expiry is not that of docs/architecture.md."
  }

  assert {
    condition     = alltrue([for table in module.state.tables : one(table.point_in_time_recovery).enabled])
    error_message = "A DynamoDB table has no point-in-time recovery."
  }

  assert {
    condition     = alltrue([for table in module.state.tables : table.deletion_protection_enabled]) && alltrue([for bucket in module.storage.buckets : !bucket.force_destroy])
    error_message = "Stores are not protected by default."
  }
}

run "an_unprotected_deployment_may_be_thrown_away" {
  command = plan

  variables {
    protected = false
  }

  assert {
    condition     = alltrue([for table in module.state.tables : !table.deletion_protection_enabled]) && alltrue([for bucket in module.storage.buckets : bucket.force_destroy])
    error_message = "Stores are protected though they should not be."
  }
}
