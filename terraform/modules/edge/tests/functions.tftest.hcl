# Each function runs as agreed, and may do what it must and no more.

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

run "settings" {
  assert {
    condition     = alltrue([for function in module.functions.functions : function.runtime == "python3.12" && toset(function.architectures) == toset(["arm64"])])
    error_message = "A function does not run on Python 3.12 and arm64."
  }

  assert {
    condition     = alltrue([for noun, function in module.functions.functions : function.handler == "lambdas.${noun}.handler.handler"])
    error_message = "A function has the wrong handler."
  }

  assert {
    condition     = alltrue([for noun, function in module.functions.functions : function.source_code_hash == filebase64sha256("tests/packages/${noun}.zip")])
    error_message = "A function's code does not follow its zip."
  }

  assert {
    condition     = alltrue([for noun, function in module.functions.functions : function.s3_bucket == "lean-ops-dev-123456789012-schemas" && startswith(function.s3_key, "packages/lean-ops-dev-${noun}/")])
    error_message = "A function's zip is in the wrong place."
  }

  assert {
    condition     = alltrue([for function in module.functions.functions : one(function.tracing_config).mode == "Active"])
    error_message = "A function is not traced."
  }

  assert {
    condition = alltrue([
      for noun, function in module.functions.functions : {
        for name, value in one(function.environment).variables : name => value if !contains(["LEANOPS_GCP_SECRET"], name)
        } == {
        LEANOPS_ENVIRONMENT          = "dev"
        LEANOPS_ACCOUNT              = "123456789012"
        LEANOPS_REGION               = "eu-central-1"
        POWERTOOLS_SERVICE_NAME      = noun
        POWERTOOLS_METRICS_NAMESPACE = "lean-ops"
        POWERTOOLS_LOG_LEVEL         = "INFO"
      }
    ])
    error_message = "A function's variables are not those that leanops.aws.settings reads."
  }

  assert {
    condition = [
      for noun, function in module.functions.functions : noun if contains(keys(one(function.environment).variables), "LEANOPS_GCP_SECRET")
    ] == ["topic_discovery"]
    error_message = "Others than topic_discovery know of the GCP secret."
  }

  assert {
    condition     = alltrue([for noun, group in module.functions.log_groups : group.name == "/aws/lambda/lean-ops-dev-${noun}" && group.retention_in_days == 365])
    error_message = "A function's log is not kept for a year."
  }

  assert {
    condition = {
      for noun, arns in module.functions.failure_topic_arns : noun => arns if length(arns) > 0
      } == {
      for noun in ["circuit_breaker", "dlq_replay", "schema_validator", "topic_discovery"] : noun => ["arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-notifications"]
    }
    error_message = "An asynchronous call that failed for good is told to nobody."
  }

  assert {
    condition     = module.functions.functions["circuit_breaker"].timeout >= 90
    error_message = "circuit_breaker has no time for a probe, which takes up to 90 seconds."
  }

  assert {
    condition = jsondecode(module.functions.rules["schema_uploads"].event_pattern) == {
      source      = ["aws.s3"]
      detail-type = ["Object Created"]
      detail = {
        bucket = { name = ["lean-ops-dev-123456789012-schemas"] }
        object = { key = [{ wildcard = "schemas/*/pending/schema.json" }] }
      }
    }
    error_message = "Uploads of contracts call nobody, or other uploads do."
  }

  assert {
    condition     = module.functions.rules["circuit_probes"].schedule_expression == "rate(1 minute)" && module.functions.rules["topic_discovery"].schedule_expression == "rate(1 hour)"
    error_message = "A schedule is not that of the local deployment."
  }
}

run "least_privilege" {
  assert {
    condition = alltrue(flatten([
      for policies in module.functions.policies : [
        for policy in policies : [
          for statement in jsondecode(policy).Statement : [for action in flatten([statement.Action]) : !strcontains(action, "*")]
          if statement.Effect == "Allow"
        ]
      ]
    ]))
    error_message = "A function may do whole groups of actions."
  }

  assert {
    condition = toset(flatten([
      for policies in module.functions.policies : [
        for policy in policies : [
          for statement in jsondecode(policy).Statement : statement.Action if contains(flatten([statement.Resource]), "*")
        ]
      ]
    ])) == toset(["lambda:ListEventSourceMappings", "xray:PutTelemetryRecords", "xray:PutTraceSegments"])
    error_message = "An action that can be tied to a resource is not."
  }

  assert {
    condition = {
      for noun, policies in module.functions.policies : noun => toset(flatten([
        for statement in jsondecode(policies.access).Statement : statement.Resource if statement.Effect == "Allow"
      ]))
      } == { for noun, resources in {
        circuit_breaker = [
          "*",
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-circuit-breakers",
          "arn:aws:kms:eu-central-1:123456789012:key/edge",
          "arn:aws:lambda:eu-central-1:123456789012:event-source-mapping:*",
          "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-sqs_processor",
          "arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-notifications",
          "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-*",
        ]
        dlq_drainer = [
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-dlq-index",
          "arn:aws:firehose:eu-central-1:123456789012:deliverystream/lean-ops-dev-raw",
          "arn:aws:kms:eu-central-1:123456789012:key/edge",
          "arn:aws:s3:::lean-ops-dev-123456789012-archive/dlq/*",
          "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-*-dlq",
        ]
        dlq_replay = [
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-dlq-index",
          "arn:aws:kms:eu-central-1:123456789012:key/edge",
          "arn:aws:s3:::lean-ops-dev-123456789012-archive",
          "arn:aws:s3:::lean-ops-dev-123456789012-archive/dlq/*",
          "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-*",
        ]
        firehose_transform = [
          "arn:aws:glue:eu-central-1:123456789012:catalog",
          "arn:aws:glue:eu-central-1:123456789012:database/iceberg_raw_db",
          "arn:aws:glue:eu-central-1:123456789012:table/iceberg_raw_db/*",
        ]
        schema_validator = [
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-schema-registry",
          "arn:aws:glue:eu-central-1:123456789012:catalog",
          "arn:aws:glue:eu-central-1:123456789012:database/iceberg_curated_db",
          "arn:aws:glue:eu-central-1:123456789012:database/iceberg_raw_db",
          "arn:aws:glue:eu-central-1:123456789012:database/iceberg_standardized_db",
          "arn:aws:glue:eu-central-1:123456789012:database/ops_db",
          "arn:aws:glue:eu-central-1:123456789012:table/iceberg_curated_db/*",
          "arn:aws:glue:eu-central-1:123456789012:table/iceberg_raw_db/*",
          "arn:aws:glue:eu-central-1:123456789012:table/iceberg_standardized_db/*",
          "arn:aws:glue:eu-central-1:123456789012:table/ops_db/*",
          "arn:aws:kms:eu-central-1:123456789012:key/edge",
          "arn:aws:s3:::lean-ops-dev-123456789012-lake",
          "arn:aws:s3:::lean-ops-dev-123456789012-lake/warehouse/*",
          "arn:aws:s3:::lean-ops-dev-123456789012-schemas",
          "arn:aws:s3:::lean-ops-dev-123456789012-schemas/schemas/*",
          "arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-notifications",
        ]
        sqs_processor = [
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-idempotency",
          "arn:aws:firehose:eu-central-1:123456789012:deliverystream/lean-ops-dev-raw",
          "arn:aws:kms:eu-central-1:123456789012:key/edge",
          "arn:aws:s3:::lean-ops-dev-123456789012-archive/oversize/*",
          "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-*",
        ]
        topic_discovery = [
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-checkpoints",
          "arn:aws:dynamodb:eu-central-1:123456789012:table/lean-ops-dev-schema-registry",
          "arn:aws:kms:eu-central-1:123456789012:key/edge",
          "arn:aws:s3:::lean-ops-dev-123456789012-schemas",
          "arn:aws:s3:::lean-ops-dev-123456789012-schemas/topics/topics.json",
          "arn:aws:secretsmanager:eu-central-1:123456789012:secret:lean-ops-dev-gcp-a1b2c3",
          "arn:aws:sns:eu-central-1:123456789012:lean-ops-dev-notifications",
        ]
    } : noun => toset(resources) }
    error_message = "A function reaches other resources than its own."
  }

  assert {
    condition = [
      for noun, policies in module.functions.policies : noun
      if contains(flatten([for statement in jsondecode(policies.access).Statement : statement.Resource if statement.Effect == "Allow"]), "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-*")
      ] == [
      for noun, policies in module.functions.policies : noun
      if length([for statement in jsondecode(policies.access).Statement : statement if statement.Effect == "Deny" && statement.Resource == "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-*-dlq"]) == 1
    ]
    error_message = "A function that reads topic queues reaches dead letters too."
  }

  assert {
    condition = alltrue(flatten([
      for policies in module.functions.policies : [
        for policy in policies : [
          for statement in jsondecode(policy).Statement : can(statement.Condition.StringEquals["kms:ViaService"]) if strcontains(jsonencode(statement.Action), "kms:")
        ]
      ]
    ]))
    error_message = "A function may use the key by itself, not only through a service."
  }

  assert {
    condition = one([for statement in jsondecode(module.functions.policies["circuit_breaker"].access).Statement : statement if statement.Sid == "SwitchMappings"]).Condition == {
      ArnEquals = { "lambda:FunctionArn" = "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-sqs_processor" }
    }
    error_message = "circuit_breaker may switch mappings of other functions."
  }

  assert {
    condition     = alltrue([for policies in module.functions.policies : length(policies.access) + length(policies.runtime) <= 10240])
    error_message = "A role's policies are longer than IAM allows."
  }
}

run "a_missing_zip_is_named" {
  command = plan

  module {
    source = "../function"
  }

  variables {
    name                 = "lean-ops-dev-sqs_processor"
    description          = "Any"
    handler              = "lambdas.sqs_processor.handler.handler"
    package              = "tests/packages/nowhere.zip"
    package_bucket       = "lean-ops-dev-123456789012-schemas"
    package_prefix       = "packages"
    policy               = "{\"Statement\": []}"
    variables            = { LEANOPS_ENVIRONMENT = "dev", LEANOPS_ACCOUNT = "123456789012", LEANOPS_REGION = "eu-central-1" }
    timeout_seconds      = 60
    memory_megabytes     = 256
    reserved_concurrency = -1
    log_days             = 365
    key_arn              = "arn:aws:kms:eu-central-1:123456789012:key/edge"
  }

  expect_failures = [aws_s3_object.package]
}
