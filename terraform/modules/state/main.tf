locals {
  # docs/architecture.md, State stores.
  layouts = {
    checkpoints      = { key = "pipeline_id", sort_key = "checkpoint_type", expiry = "expires_at" }
    circuit_breakers = { key = "name", sort_key = null, expiry = null }
    dlq_index        = { key = "topic_name", sort_key = "entry", expiry = "expires_at" }
    idempotency      = { key = "id", sort_key = null, expiry = "expiration" }
    locks            = { key = "lock_id", sort_key = null, expiry = "expires_at" }
    schema_registry  = { key = "topic_name", sort_key = null, expiry = null }
  }
}

resource "aws_dynamodb_table" "this" {
  for_each = local.layouts

  name                        = var.names[each.key]
  billing_mode                = "PAY_PER_REQUEST"
  hash_key                    = each.value.key
  range_key                   = each.value.sort_key
  deletion_protection_enabled = var.protected

  dynamic "attribute" {
    for_each = compact([each.value.key, each.value.sort_key])

    content {
      name = attribute.value
      type = "S"
    }
  }

  dynamic "ttl" {
    for_each = each.value.expiry[*]

    content {
      attribute_name = ttl.value
      enabled        = true
    }
  }

  point_in_time_recovery {
    enabled = true
  }

  server_side_encryption {
    enabled     = true
    kms_key_arn = var.key_arn
  }
}
