# One key for everything that the edge keeps. Whoever takes it away closes queues, buckets, tables and logs at once.

resource "aws_kms_key" "edge" {
  description             = "Data at rest of ${var.prefix}"
  enable_key_rotation     = true
  deletion_window_in_days = var.deletion_window_days
  policy                  = jsonencode({ Version = "2012-10-17", Statement = local.statements })
}

resource "aws_kms_alias" "edge" {
  name          = var.alias
  target_key_id = aws_kms_key.edge.key_id
}

locals {
  # In a key's policy "*" means this key.
  statements = concat([
    {
      Sid       = "AccountByItsOwnPolicies"
      Effect    = "Allow"
      Principal = { AWS = "arn:aws:iam::${var.account}:root" }
      Action    = "kms:*"
      Resource  = "*"
    },
    {
      Sid       = "Logs"
      Effect    = "Allow"
      Principal = { Service = "logs.${var.region}.amazonaws.com" }
      Action    = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"]
      Resource  = "*"
      Condition = {
        ArnLike = {
          "kms:EncryptionContext:aws:logs:arn" = "arn:aws:logs:${var.region}:${var.account}:log-group:/aws/*/${var.prefix}-*"
        }
      }
    },
    {
      Sid       = "AlarmsToTopics"
      Effect    = "Allow"
      Principal = { Service = "cloudwatch.amazonaws.com" }
      Action    = ["kms:Decrypt", "kms:GenerateDataKey*"]
      Resource  = "*"
      Condition = { StringEquals = { "aws:SourceAccount" = var.account } }
    },
    ], [
    for roles in [var.producer_role_arns] : {
      Sid       = "ProducersToQueues"
      Effect    = "Allow"
      Principal = { AWS = sort(roles) }
      Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
      Resource  = "*"
      Condition = { StringEquals = { "kms:ViaService" = "sqs.${var.region}.amazonaws.com" } }
    } if length(roles) > 0
  ])
}
