# One stream for all topics, append-only, with nothing in it that depends on a topic.

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

run "delivery" {
  assert {
    condition     = module.delivery.stream.destination == "iceberg" && one(module.delivery.stream.iceberg_configuration).append_only
    error_message = "The stream is not append-only to Iceberg, so it does not scale."
  }

  assert {
    condition     = one(module.delivery.stream.iceberg_configuration).buffering_size == 64 && one(module.delivery.stream.iceberg_configuration).buffering_interval == 300
    error_message = "The stream does not commit every 64 MB or 300 seconds."
  }

  assert {
    condition     = length(one(module.delivery.stream.iceberg_configuration).destination_table_configuration) == 0
    error_message = "The stream names tables: each new topic would replace it."
  }

  assert {
    condition     = one(module.delivery.stream.iceberg_configuration).catalog_arn == "arn:aws:glue:eu-central-1:123456789012:catalog"
    error_message = "The stream commits to another catalog."
  }

  assert {
    condition     = one(module.delivery.stream.iceberg_configuration).s3_backup_mode == "FailedDataOnly"
    error_message = "What can't be delivered is not kept."
  }

  assert {
    condition     = one(one(module.delivery.stream.iceberg_configuration).s3_configuration).bucket_arn == "arn:aws:s3:::lean-ops-dev-123456789012-archive"
    error_message = "What can't be delivered is not kept in the archive."
  }

  assert {
    condition     = startswith(one(one(module.delivery.stream.iceberg_configuration).s3_configuration).error_output_prefix, "delivery-errors/")
    error_message = "What can't be delivered is not where leanops.core.naming says."
  }

  assert {
    condition = alltrue([
      for options in [
        one(one(module.delivery.stream.iceberg_configuration).cloudwatch_logging_options),
        one(one(one(module.delivery.stream.iceberg_configuration).s3_configuration).cloudwatch_logging_options),
      ] : options.enabled && options.log_group_name == "/aws/kinesisfirehose/lean-ops-dev-raw"
    ])
    error_message = "The stream does not log its failures."
  }

  assert {
    condition = [
      for parameter in one(one(one(module.delivery.stream.iceberg_configuration).processing_configuration).processors).parameters :
      "${parameter.parameter_name} ${parameter.parameter_value}"
    ] == ["LambdaArn arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-firehose_transform:$LATEST"]
    error_message = "The stream does not call firehose_transform, or names what the provider takes as given."
  }

  assert {
    condition = toset(flatten([for statement in jsondecode(module.delivery.policy).Statement : statement.Resource])) == toset([
      "arn:aws:glue:eu-central-1:123456789012:catalog",
      "arn:aws:glue:eu-central-1:123456789012:database/iceberg_raw_db",
      "arn:aws:glue:eu-central-1:123456789012:table/iceberg_raw_db/*",
      "arn:aws:kms:eu-central-1:123456789012:key/edge",
      "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-firehose_transform",
      "arn:aws:lambda:eu-central-1:123456789012:function:lean-ops-dev-firehose_transform:$LATEST",
      "arn:aws:logs:eu-central-1:123456789012:log-group:/aws/kinesisfirehose/lean-ops-dev-raw:log-stream:*",
      "arn:aws:s3:::lean-ops-dev-123456789012-archive",
      "arn:aws:s3:::lean-ops-dev-123456789012-archive/delivery-errors/*",
      "arn:aws:s3:::lean-ops-dev-123456789012-lake",
      "arn:aws:s3:::lean-ops-dev-123456789012-lake/warehouse/iceberg_raw_db/*",
    ])
    error_message = "The stream's role reaches more or less than RAW, its errors, its transform and its log."
  }
}
