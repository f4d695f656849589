# What each function may do. Queues are named by pattern: IAM holds no list of 700 of them, and no policy changes with a topic.

locals {
  dead_letters_of_others = {
    Sid      = "NoDeadLetters"
    Effect   = "Deny"
    Action   = "sqs:*"
    Resource = var.arns.every_dead_letters
  }
  consume = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"]

  # The services through which a function meets encrypted data.
  encrypted = {
    sqs_processor      = ["dynamodb", "s3", "sqs"]
    firehose_transform = []
    dlq_drainer        = ["dynamodb", "s3", "sqs"]
    dlq_replay         = ["dynamodb", "s3", "sqs"]
    circuit_breaker    = ["dynamodb", "sns", "sqs"]
    schema_validator   = ["dynamodb", "s3", "sns"]
    topic_discovery    = ["dynamodb", "s3", "secretsmanager", "sns"]
  }

  # DynamoDB asks for more, since it works on the table's key in its caller's name.
  key_actions = {
    for function, services in local.encrypted : function => concat(
      ["kms:Decrypt", "kms:GenerateDataKey"],
      contains(services, "dynamodb") ? ["kms:DescribeKey", "kms:Encrypt", "kms:ReEncryptFrom", "kms:ReEncryptTo"] : [],
    )
  }

  use_the_key = {
    for function, services in local.encrypted : function => [
      for key in [var.key_arn] : {
        Sid       = "UseTheKey"
        Effect    = "Allow"
        Action    = local.key_actions[function]
        Resource  = key
        Condition = { StringEquals = { "kms:ViaService" = [for service in services : "${service}.${var.region}.amazonaws.com"] } }
      } if length(services) > 0
    ]
  }

  notify = {
    Sid      = "Notify"
    Effect   = "Allow"
    Action   = "sns:Publish"
    Resource = var.arns.notifications
  }

  deliver = {
    Sid      = "Deliver"
    Effect   = "Allow"
    Action   = "firehose:PutRecordBatch"
    Resource = var.arns.delivery_stream
  }

  lake    = var.arns.buckets.lake
  schemas = var.arns.buckets.schemas
  archive = var.arns.buckets.archive
  keys    = var.names.keys

  statements = {
    sqs_processor = [
      {
        Sid      = "TakeMessages"
        Effect   = "Allow"
        Action   = local.consume
        Resource = var.arns.every_queue
      },
      local.dead_letters_of_others,
      local.deliver,
      {
        Sid      = "KeepOversizedPayloads"
        Effect   = "Allow"
        Action   = "s3:PutObject"
        Resource = "${local.archive}/${local.keys.oversize}/*"
      },
      {
        Sid      = "NoteWhatWasAccepted"
        Effect   = "Allow"
        Action   = ["dynamodb:BatchGetItem", "dynamodb:BatchWriteItem"]
        Resource = var.arns.tables.idempotency
      },
    ]

    firehose_transform = [
      {
        Sid      = "FindTables"
        Effect   = "Allow"
        Action   = "glue:GetTables"
        Resource = [var.arns.catalog, var.arns.databases.raw, var.arns.tables_of_the_database.raw]
      },
    ]

    dlq_drainer = [
      {
        Sid      = "TakeDeadLetters"
        Effect   = "Allow"
        Action   = local.consume
        Resource = var.arns.every_dead_letters
      },
      {
        Sid      = "Archive"
        Effect   = "Allow"
        Action   = "s3:PutObject"
        Resource = "${local.archive}/${local.keys.dead_letters}/*"
      },
      {
        Sid      = "AddToIndex"
        Effect   = "Allow"
        Action   = "dynamodb:PutItem"
        Resource = var.arns.tables.dlq_index
      },
      local.deliver,
    ]

    dlq_replay = [
      {
        Sid      = "SelectAndMark"
        Effect   = "Allow"
        Action   = ["dynamodb:Query", "dynamodb:UpdateItem"]
        Resource = var.arns.tables.dlq_index
      },
      {
        Sid      = "ReadArchive"
        Effect   = "Allow"
        Action   = "s3:GetObject"
        Resource = "${local.archive}/${local.keys.dead_letters}/*"
      },
      {
        # Without it S3 answers a missing object with "denied".
        Sid       = "ListArchive"
        Effect    = "Allow"
        Action    = "s3:ListBucket"
        Resource  = local.archive
        Condition = { StringLikeIfExists = { "s3:prefix" = "${local.keys.dead_letters}/*" } }
      },
      {
        Sid      = "SendAgain"
        Effect   = "Allow"
        Action   = ["sqs:GetQueueUrl", "sqs:SendMessage"]
        Resource = var.arns.every_queue
      },
      local.dead_letters_of_others,
    ]

    circuit_breaker = [
      {
        # Lambda lists mappings for whole accounts only.
        Sid      = "FindMappings"
        Effect   = "Allow"
        Action   = "lambda:ListEventSourceMappings"
        Resource = "*"
      },
      {
        Sid       = "SwitchMappings"
        Effect    = "Allow"
        Action    = "lambda:UpdateEventSourceMapping"
        Resource  = var.arns.event_source_mappings
        Condition = { ArnEquals = { "lambda:FunctionArn" = var.arns.functions.sqs_processor } }
      },
      {
        Sid      = "TakeMessagesToProbe"
        Effect   = "Allow"
        Action   = ["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"]
        Resource = var.arns.every_queue
      },
      local.dead_letters_of_others,
      {
        Sid      = "Probe"
        Effect   = "Allow"
        Action   = "lambda:InvokeFunction"
        Resource = var.arns.functions.sqs_processor
      },
      {
        Sid      = "KeepStates"
        Effect   = "Allow"
        Action   = ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        Resource = var.arns.tables.circuit_breakers
      },
      local.notify,
    ]

    schema_validator = [
      {
        Sid      = "MoveContracts"
        Effect   = "Allow"
        Action   = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
        Resource = "${local.schemas}/${local.keys.schemas}/*"
      },
      {
        Sid       = "ListContracts"
        Effect    = "Allow"
        Action    = "s3:ListBucket"
        Resource  = local.schemas
        Condition = { StringLikeIfExists = { "s3:prefix" = "${local.keys.schemas}/*" } }
      },
      {
        Sid      = "WriteTables"
        Effect   = "Allow"
        Action   = ["s3:DeleteObject", "s3:GetObject", "s3:PutObject"]
        Resource = "${local.lake}/${local.keys.warehouse}/*"
      },
      {
        Sid       = "ListTables"
        Effect    = "Allow"
        Action    = "s3:ListBucket"
        Resource  = local.lake
        Condition = { StringLikeIfExists = { "s3:prefix" = "${local.keys.warehouse}/*" } }
      },
      {
        Sid      = "MakeAndAlterTables"
        Effect   = "Allow"
        Action   = ["glue:CreateTable", "glue:GetTable", "glue:UpdateTable"]
        Resource = concat([var.arns.catalog], values(var.arns.databases), values(var.arns.tables_of_the_database))
      },
      {
        Sid      = "SetTheRegistry"
        Effect   = "Allow"
        Action   = ["dynamodb:GetItem", "dynamodb:UpdateItem"]
        Resource = var.arns.tables.schema_registry
      },
      local.notify,
    ]

    topic_discovery = [
      {
        Sid      = "WriteTheTopicsFile"
        Effect   = "Allow"
        Action   = ["s3:GetObject", "s3:PutObject"]
        Resource = "${local.schemas}/${local.keys.topics_file}"
      },
      {
        Sid       = "FindTheTopicsFile"
        Effect    = "Allow"
        Action    = "s3:ListBucket"
        Resource  = local.schemas
        Condition = { StringEqualsIfExists = { "s3:prefix" = local.keys.topics_file } }
      },
      {
        Sid      = "RegisterTopics"
        Effect   = "Allow"
        Action   = ["dynamodb:GetItem", "dynamodb:Scan", "dynamodb:UpdateItem"]
        Resource = var.arns.tables.schema_registry
      },
      {
        Sid       = "NoteWhatWasTold"
        Effect    = "Allow"
        Action    = ["dynamodb:GetItem", "dynamodb:PutItem"]
        Resource  = var.arns.tables.checkpoints
        Condition = { "ForAllValues:StringEquals" = { "dynamodb:LeadingKeys" = ["topic_discovery"] } }
      },
      {
        Sid      = "AskPubSub"
        Effect   = "Allow"
        Action   = "secretsmanager:GetSecretValue"
        Resource = aws_secretsmanager_secret.gcp.arn
      },
      local.notify,
    ]
  }

  policies = {
    for function, statements in local.statements : function => jsonencode({
      Version   = "2012-10-17"
      Statement = concat(statements, local.use_the_key[function])
    })
  }
}
