locals {
  days_14 = 14 * 24 * 60 * 60
  mib     = 1024 * 1024
}

resource "aws_sqs_queue" "dead_letters" {
  for_each = var.dead_letter_queues

  name                              = each.value
  message_retention_seconds         = local.days_14
  max_message_size                  = local.mib
  visibility_timeout_seconds        = var.drainer_visibility_seconds
  receive_wait_time_seconds         = 20
  kms_master_key_id                 = var.key_arn
  kms_data_key_reuse_period_seconds = var.data_key_seconds
}

resource "aws_sqs_queue" "topic" {
  for_each = var.queues

  name = each.value
  # A message's age counts from when it was first sent, in both queues. Fewer days here would save nothing: they would
  # only let messages end while a circuit is open.
  message_retention_seconds         = local.days_14
  max_message_size                  = local.mib
  visibility_timeout_seconds        = var.processor_visibility_seconds
  receive_wait_time_seconds         = 20
  kms_master_key_id                 = var.key_arn
  kms_data_key_reuse_period_seconds = var.data_key_seconds

  redrive_policy = jsonencode({
    deadLetterTargetArn = aws_sqs_queue.dead_letters[each.key].arn
    maxReceiveCount     = var.receives
  })
}

resource "aws_sqs_queue_redrive_allow_policy" "this" {
  for_each = var.queues

  queue_url = aws_sqs_queue.dead_letters[each.key].id

  redrive_allow_policy = jsonencode({
    redrivePermission = "byQueue"
    sourceQueueArns   = [aws_sqs_queue.topic[each.key].arn]
  })
}

resource "aws_sqs_queue_policy" "topic" {
  for_each = var.queues

  queue_url = aws_sqs_queue.topic[each.key].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat([
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = aws_sqs_queue.topic[each.key].arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      ], [
      for roles in [var.producer_role_arns] : {
        Sid       = "Producers"
        Effect    = "Allow"
        Principal = { AWS = sort(roles) }
        Action    = ["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:SendMessage"]
        Resource  = aws_sqs_queue.topic[each.key].arn
      } if length(roles) > 0
    ])
  })
}

resource "aws_sqs_queue_policy" "dead_letters" {
  for_each = var.dead_letter_queues

  queue_url = aws_sqs_queue.dead_letters[each.key].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "sqs:*"
        Resource  = aws_sqs_queue.dead_letters[each.key].arn
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
    ]
  })
}
