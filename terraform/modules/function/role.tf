resource "aws_iam_role" "this" {
  name        = var.name
  description = "What ${var.name} may do"

  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect    = "Allow"
        Principal = { Service = "lambda.amazonaws.com" }
        Action    = "sts:AssumeRole"
      },
    ]
  })
}

resource "aws_iam_role_policy" "access" {
  name   = "access"
  role   = aws_iam_role.this.id
  policy = var.policy
}

# What every function needs to run at all.
resource "aws_iam_role_policy" "runtime" {
  name = "runtime"
  role = aws_iam_role.this.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      {
        Sid      = "WriteItsLog"
        Effect   = "Allow"
        Action   = ["logs:CreateLogStream", "logs:PutLogEvents"]
        Resource = "arn:aws:logs:${var.region}:${var.account}:log-group:/aws/lambda/${var.name}:*"
      },
      {
        Sid       = "ReadItsVariables"
        Effect    = "Allow"
        Action    = "kms:Decrypt"
        Resource  = var.key_arn
        Condition = { StringEquals = { "kms:ViaService" = "lambda.${var.region}.amazonaws.com" } }
      },
      {
        # X-Ray has no resources to name.
        Sid      = "Trace"
        Effect   = "Allow"
        Action   = ["xray:PutTelemetryRecords", "xray:PutTraceSegments"]
        Resource = "*"
      },
      ], [
      for topic in var.failure_topic_arn[*] : {
        Sid      = "TellOfLostEvents"
        Effect   = "Allow"
        Action   = "sns:Publish"
        Resource = topic
      }
      ], [
      for topic in var.failure_topic_arn[*] : {
        Sid       = "TellOfLostEventsEncrypted"
        Effect    = "Allow"
        Action    = ["kms:Decrypt", "kms:GenerateDataKey"]
        Resource  = var.key_arn
        Condition = { StringEquals = { "kms:ViaService" = "sns.${var.region}.amazonaws.com" } }
      }
    ])
  })
}
