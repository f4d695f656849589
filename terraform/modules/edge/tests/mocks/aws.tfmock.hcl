# ARNs as AWS would answer them, so that tests see who is wired to whom. All else is made up by Terraform.

mock_resource "aws_kms_key" {
  defaults = {
    arn = "arn:aws:kms:eu-central-1:123456789012:key/edge"
  }
}

mock_resource "aws_iam_role" {
  defaults = {
    arn = "arn:aws:iam::123456789012:role/made-up"
  }
}

mock_resource "aws_secretsmanager_secret" {
  defaults = {
    arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:lean-ops-dev-gcp-a1b2c3"
  }
}

mock_resource "aws_sqs_queue" {
  defaults = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:made-up"
  }
}

override_resource {
  target = module.topic_queues.aws_sqs_queue.topic["events"]
  values = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-events"
  }
}

override_resource {
  target = module.topic_queues.aws_sqs_queue.dead_letters["events"]
  values = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-events-dlq"
  }
}

override_resource {
  target = module.topic_queues.aws_sqs_queue.topic["orders"]
  values = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-orders"
  }
}

override_resource {
  target = module.topic_queues.aws_sqs_queue.dead_letters["orders"]
  values = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-orders-dlq"
  }
}

override_resource {
  target = module.topic_queues.aws_sqs_queue.topic["payments"]
  values = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-payments"
  }
}

override_resource {
  target = module.topic_queues.aws_sqs_queue.dead_letters["payments"]
  values = {
    arn = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-payments-dlq"
  }
}

override_resource {
  target = module.storage.aws_s3_bucket.this["archive"]
  values = {
    arn = "arn:aws:s3:::lean-ops-dev-123456789012-archive"
  }
}

override_resource {
  target = module.storage.aws_s3_bucket.this["lake"]
  values = {
    arn = "arn:aws:s3:::lean-ops-dev-123456789012-lake"
  }
}

override_resource {
  target = module.storage.aws_s3_bucket.this["schemas"]
  values = {
    arn = "arn:aws:s3:::lean-ops-dev-123456789012-schemas"
  }
}

override_resource {
  target = module.alarms.aws_sns_topic.this["alarms"]
  values = {
    arn = "arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-alarms"
  }
}

override_resource {
  target = module.alarms.aws_sns_topic.this["notifications"]
  values = {
    arn = "arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-notifications"
  }
}

override_resource {
  target = module.functions.module.function["circuit_breaker"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-circuit_breaker"
  }
}

override_resource {
  target = module.functions.module.function["dlq_drainer"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-dlq_drainer"
  }
}

override_resource {
  target = module.functions.module.function["dlq_replay"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-dlq_replay"
  }
}

override_resource {
  target = module.functions.module.function["firehose_transform"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-firehose_transform"
  }
}

override_resource {
  target = module.functions.module.function["schema_validator"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-schema_validator"
  }
}

override_resource {
  target = module.functions.module.function["sqs_processor"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-sqs_processor"
  }
}

override_resource {
  target = module.functions.module.function["topic_discovery"].aws_lambda_function.this
  values = {
    arn = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-topic_discovery"
  }
}
