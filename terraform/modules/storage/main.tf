resource "aws_s3_bucket" "this" {
  for_each = var.buckets

  bucket        = each.value
  force_destroy = !var.protected
}

resource "aws_s3_bucket_public_access_block" "this" {
  for_each = aws_s3_bucket.this

  bucket                  = each.value.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_versioning" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  versioning_configuration {
    status = "Enabled"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    # One data key per bucket and a while, not one per object: Iceberg writes many small ones.
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = var.key_arn
    }
  }
}

resource "aws_s3_bucket_policy" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid       = "TlsOnly"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = ["arn:aws:s3:::${var.buckets[each.key]}", "arn:aws:s3:::${var.buckets[each.key]}/*"]
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        Sid       = "NoOldTls"
        Effect    = "Deny"
        Principal = "*"
        Action    = "s3:*"
        Resource  = ["arn:aws:s3:::${var.buckets[each.key]}", "arn:aws:s3:::${var.buckets[each.key]}/*"]
        Condition = { NumericLessThan = { "s3:TlsVersion" = "1.2" } }
      },
    ]
  })

  # S3 refuses a policy while it decides whether the bucket is public.
  depends_on = [aws_s3_bucket_public_access_block.this]
}

# Iceberg alone decides which files of the lake are done with, and contracts are kept for good: only what was overwritten
# or deleted ends by the clock. The archive has the only copy of what did not reach RAW.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    id     = "leftovers"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }

    noncurrent_version_expiration {
      noncurrent_days = var.noncurrent_days
    }
  }

  dynamic "rule" {
    for_each = each.key == "archive" ? [var.archive_days] : []

    content {
      id     = "archive"
      status = "Enabled"

      filter {}

      # Instant retrieval: a replay and a reader of an oversized payload need no restore.
      transition {
        days          = 90
        storage_class = "GLACIER_IR"
      }

      expiration {
        days = rule.value
      }
    }
  }

  depends_on = [aws_s3_bucket_versioning.this]
}

resource "aws_s3_bucket_notification" "schemas" {
  bucket      = aws_s3_bucket.this["schemas"].id
  eventbridge = true
}
