resource "aws_iam_role" "this" {
  name        = var.name
  description = "What the delivery stream ${var.name} may do"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "firehose.amazonaws.com" }
        Action    = "sts:AssumeRole"
        Condition = { StringEquals = { "aws:SourceAccount" = var.account } }
      },
    ]
  })
}

resource "aws_iam_role_policy" "this" {
  name = "delivery"
  role = aws_iam_role.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "CommitToTables"
        Effect   = "Allow"
        Action   = ["glue:GetDatabase", "glue:GetTable", "glue:UpdateTable"]
        Resource = [var.catalog_arn, var.database_arn, var.tables_arn]
      },
      {
        Sid      = "FindBuckets"
        Effect   = "Allow"
        Action   = ["s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"]
        Resource = [var.lake_bucket_arn, var.error_bucket_arn]
      },
      {
        Sid      = "WriteTables"
        Effect   = "Allow"
        Action   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
        Resource = "${var.lake_bucket_arn}/${var.tables_prefix}/*"
      },
      {
        Sid      = "KeepWhatFailed"
        Effect   = "Allow"
        Action   = ["s3:AbortMultipartUpload", "s3:GetObject", "s3:PutObject"]
        Resource = "${var.error_bucket_arn}/${var.error_prefix}/*"
      },
      {
        Sid       = "UseTheKey"
        Effect    = "Allow"
        Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource  = var.key_arn
        Condition = { StringEquals = { "kms:ViaService" = "s3.${var.region}.amazonaws.com" } }
      },
      {
        Sid      = "Transform"
        Effect   = "Allow"
        Action   = ["lambda:GetFunctionConfiguration", "lambda:InvokeFunction"]
        Resource = [var.transform_arn, "${var.transform_arn}:$LATEST"]
      },
      {
        Sid      = "WriteItsLog"
        Effect   = "Allow"
        Action   = "logs:PutLogEvents"
        Resource = "arn:aws:logs:${var.region}:${var.account}:log-group:/aws/kinesisfirehose/${var.name}:log-stream:*"
      },
    ]
  })
}
