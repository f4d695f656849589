resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/kinesisfirehose/${var.name}"
  retention_in_days = var.log_days
  kms_key_id        = var.key_arn
}

resource "aws_cloudwatch_log_stream" "this" {
  for_each = { delivery = "DestinationDelivery", errors = "BackupDelivery" }

  name           = each.value
  log_group_name = aws_cloudwatch_log_group.this.name
}

# One stream for all topics: the transform names each record's table. There is no destination_table_configuration on
# purpose. The provider replaces the stream when that changes, so a new topic would end the old stream; and append-only
# delivery scales by itself.
resource "aws_kinesis_firehose_delivery_stream" "raw" {
  name        = var.name
  destination = "iceberg"

  server_side_encryption {
    enabled  = true
    key_type = "CUSTOMER_MANAGED_CMK"
    key_arn  = var.key_arn
  }

  iceberg_configuration {
    role_arn           = aws_iam_role.this.arn
    catalog_arn        = var.catalog_arn
    append_only        = true
    buffering_size     = 64
    buffering_interval = 300
    retry_duration     = var.retry_seconds
    s3_backup_mode     = "FailedDataOnly"

    s3_configuration {
      role_arn            = aws_iam_role.this.arn
      bucket_arn          = var.error_bucket_arn
      error_output_prefix = "${var.error_prefix}/!{firehose:error-output-type}/day=!{timestamp:yyyy-MM-dd}/"
      compression_format  = "UNCOMPRESSED"
      kms_key_arn         = var.key_arn

      cloudwatch_logging_options {
        enabled         = true
        log_group_name  = aws_cloudwatch_log_group.this.name
        log_stream_name = aws_cloudwatch_log_stream.this["errors"].name
      }
    }

    cloudwatch_logging_options {
      enabled         = true
      log_group_name  = aws_cloudwatch_log_group.this.name
      log_stream_name = aws_cloudwatch_log_stream.this["delivery"].name
    }

    processing_configuration {
      enabled = true

      processors {
        type = "Lambda"

        # Batches of 1 MB or 60 s, three retries and the stream's own role are what Firehose does unasked. The provider
        # keeps such values out of its state, so to name them here would show a change in every plan.
        parameters {
          parameter_name  = "LambdaArn"
          parameter_value = "${var.transform_arn}:$LATEST"
        }
      }
    }
  }

  depends_on = [aws_iam_role_policy.this]
}
