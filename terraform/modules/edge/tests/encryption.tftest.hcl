# Everything at rest is encrypted by the deployment's own key, and nothing travels in the clear.

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

run "at_rest" {
  assert {
    condition     = alltrue([for encryption in module.storage.encryption : one(one(encryption.rule).apply_server_side_encryption_by_default).sse_algorithm == "aws:kms"])
    error_message = "A bucket is not encrypted by KMS."
  }

  assert {
    condition     = alltrue([for encryption in module.storage.encryption : one(one(encryption.rule).apply_server_side_encryption_by_default).kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/edge"])
    error_message = "A bucket is encrypted by another key."
  }

  assert {
    condition     = alltrue([for queue in concat(values(module.topic_queues.queues), values(module.topic_queues.dead_letter_queues)) : queue.kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/edge"])
    error_message = "A queue is not encrypted by the key."
  }

  assert {
    condition     = alltrue([for table in module.state.tables : one(table.server_side_encryption).enabled && one(table.server_side_encryption).kms_key_arn == "arn:aws:kms:eu-central-1:123456789012:key/edge"])
    error_message = "A DynamoDB table is not encrypted by the key."
  }

  assert {
    condition     = alltrue([for topic in module.alarms.topics : topic.kms_master_key_id == "arn:aws:kms:eu-central-1:123456789012:key/edge"])
    error_message = "An SNS topic is not encrypted by the key."
  }

  assert {
    condition     = alltrue([for group in concat(values(module.functions.log_groups), [module.delivery.log_group]) : group.kms_key_id == "arn:aws:kms:eu-central-1:123456789012:key/edge"])
    error_message = "A log group is not encrypted by the key."
  }

  assert {
    condition     = alltrue([for function in module.functions.functions : function.kms_key_arn == "arn:aws:kms:eu-central-1:123456789012:key/edge"])
    error_message = "A function's variables are not encrypted by the key."
  }

  assert {
    condition     = one(module.delivery.stream.server_side_encryption).key_arn == "arn:aws:kms:eu-central-1:123456789012:key/edge"
    error_message = "The stream is not encrypted by the key."
  }

  assert {
    condition     = module.encryption.key.enable_key_rotation
    error_message = "The key is not rotated."
  }
}

run "in_transit" {
  assert {
    condition = alltrue([
      for policy in module.storage.policies : length([
        for statement in jsondecode(policy).Statement : statement
        if statement.Effect == "Deny" && try(statement.Condition.Bool["aws:SecureTransport"], "") == "false" && statement.Action == "s3:*"
      ]) == 1
    ])
    error_message = "A bucket answers without TLS."
  }

  assert {
    condition = alltrue([
      for noun, policy in module.storage.policies : alltrue([
        for statement in jsondecode(policy).Statement :
        toset(statement.Resource) == toset([module.storage.buckets[noun].arn, "${module.storage.buckets[noun].arn}/*"])
      ])
    ])
    error_message = "A bucket's policy is about another bucket."
  }

  assert {
    condition = alltrue([
      for policy in module.topic_queues.policies :
      jsondecode(policy).Statement[0].Effect == "Deny" && jsondecode(policy).Statement[0].Condition.Bool["aws:SecureTransport"] == "false"
    ])
    error_message = "A queue answers without TLS."
  }
}

run "the_key_is_open_to_producers_only_through_queues" {
  command = plan

  variables {
    producer_role_arns = ["arn:aws:iam::210987654321:role/bridge"]
  }

  assert {
    condition = one([for statement in jsondecode(module.encryption.key.policy).Statement : statement if statement.Sid == "ProducersToQueues"]) == {
      Sid       = "ProducersToQueues"
      Effect    = "Allow"
      Principal = { AWS = ["arn:aws:iam::210987654321:role/bridge"] }
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = "*"
      Condition = { StringEquals = { "kms:ViaService" = "sqs.eu-central-1.amazonaws.com" } }
    }
    error_message = "The bridge may do more or less with the key than it must."
  }

  assert {
    condition = alltrue([
      for topic, policy in module.topic_queues.policies : alltrue([
        for statement in jsondecode(policy).Statement : toset(statement.Action) == toset(["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"])
        if statement.Effect == "Allow"
      ])
    ])
    error_message = "The bridge may do more with a queue than send."
  }
}
