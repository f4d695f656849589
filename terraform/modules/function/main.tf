locals {
  found  = fileexists(var.package)
  digest = local.found ? filesha256(var.package) : ""
}

# By way of S3: schema_validator's zip is larger than an upload may be.
resource "aws_s3_object" "package" {
  bucket      = var.package_bucket
  key         = "${var.package_prefix}/${var.name}/${substr(local.digest, 0, 16)}.zip"
  source      = var.package
  source_hash = local.digest
  kms_key_id  = var.key_arn

  lifecycle {
    create_before_destroy = true

    precondition {
      condition     = local.found
      error_message = "Cannot deploy function, its zip is missing: ${var.package}. Run make package."
    }
  }
}

resource "aws_cloudwatch_log_group" "this" {
  name              = "/aws/lambda/${var.name}"
  retention_in_days = var.log_days
  kms_key_id        = var.key_arn
}

resource "aws_lambda_function" "this" {
  function_name                  = var.name
  description                    = var.description
  role                           = aws_iam_role.this.arn
  runtime                        = "python3.12"
  architectures                  = ["arm64"]
  handler                        = var.handler
  timeout                        = var.timeout_seconds
  memory_size                    = var.memory_megabytes
  reserved_concurrent_executions = var.reserved_concurrency
  kms_key_arn                    = var.key_arn
  s3_bucket                      = aws_s3_object.package.bucket
  s3_key                         = aws_s3_object.package.key
  source_code_hash               = local.found ? filebase64sha256(var.package) : ""

  environment {
    variables = var.variables
  }

  logging_config {
    log_format = "Text" # Powertools writes JSON by itself.
    log_group  = aws_cloudwatch_log_group.this.name
  }

  tracing_config {
    mode = "Active"
  }

  # A function that starts before it may read its queue only fails.
  depends_on = [aws_iam_role_policy.access, aws_iam_role_policy.runtime]
}

# Only for functions that are called asynchronously. A destination, unlike a dead letter queue, also tells the error.
resource "aws_lambda_function_event_invoke_config" "this" {
  count = var.failure_topic_arn == null ? 0 : 1

  function_name                = aws_lambda_function.this.function_name
  maximum_event_age_in_seconds = 6 * 60 * 60
  maximum_retry_attempts       = 2

  destination_config {
    on_failure {
      destination = var.failure_topic_arn
    }
  }
}
