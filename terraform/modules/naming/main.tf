# The names of leanops.core.naming, once more for Terraform. tests/terraform compares the two.

locals {
  prefix = "lean-ops-${var.environment}"
  scope  = "${var.region}:${var.account}"

  names = {
    prefix             = local.prefix
    key_alias          = "alias/${local.prefix}"
    buckets            = { for noun in ["archive", "lake", "schemas"] : noun => "${local.prefix}-${var.account}-${noun}" }
    queues             = { for topic in var.topics : topic => "${local.prefix}-${topic}" }
    dead_letter_queues = { for topic in var.topics : topic => "${local.prefix}-${topic}-dlq" }
    delivery_stream    = "${local.prefix}-raw"
    notifications      = "${local.prefix}-notifications"
    alarms             = "${local.prefix}-alarms"
    gcp_secret         = "${local.prefix}-gcp"

    tables = {
      checkpoints      = "${local.prefix}-checkpoints"
      circuit_breakers = "${local.prefix}-circuit-breakers"
      dlq_index        = "${local.prefix}-dlq-index"
      idempotency      = "${local.prefix}-idempotency"
      locks            = "${local.prefix}-locks"
      schema_registry  = "${local.prefix}-schema-registry"
    }

    functions = {
      for noun in [
        "circuit_breaker",
        "dlq_drainer",
        "dlq_replay",
        "firehose_transform",
        "schema_validator",
        "sqs_processor",
        "topic_discovery",
      ] : noun => "${local.prefix}-${noun}"
    }

    rules = {
      circuit_probes  = "${local.prefix}-circuit-probes"
      schema_uploads  = "${local.prefix}-schema-uploads"
      topic_discovery = "${local.prefix}-topic-discovery"
    }

    databases = {
      raw          = "iceberg_raw_db"
      standardized = "iceberg_standardized_db"
      curated      = "iceberg_curated_db"
      ops          = "ops_db"
    }

    keys = {
      warehouse       = "warehouse"
      topics_file     = "topics/topics.json"
      delivery_errors = "delivery-errors"
      dead_letters    = "dlq"
      oversize        = "oversize"
      schemas         = "schemas"
      packages        = "packages"
    }
  }

  # Made from names, not read from resources: a policy is then known when it is planned, and does not grow with the topics.
  arns = {
    buckets                = { for noun, name in local.names.buckets : noun => "arn:aws:s3:::${name}" }
    tables                 = { for noun, name in local.names.tables : noun => "arn:aws:dynamodb:${local.scope}:table/${name}" }
    functions              = { for noun, name in local.names.functions : noun => "arn:aws:lambda:${local.scope}:function:${name}" }
    every_queue            = "arn:aws:sqs:${local.scope}:${local.prefix}-*"
    every_dead_letters     = "arn:aws:sqs:${local.scope}:${local.prefix}-*-dlq"
    event_source_mappings  = "arn:aws:lambda:${local.scope}:event-source-mapping:*"
    delivery_stream        = "arn:aws:firehose:${local.scope}:deliverystream/${local.names.delivery_stream}"
    notifications          = "arn:aws:sns:${local.scope}:${local.names.notifications}"
    alarms                 = "arn:aws:sns:${local.scope}:${local.names.alarms}"
    catalog                = "arn:aws:glue:${local.scope}:catalog"
    databases              = { for noun, name in local.names.databases : noun => "arn:aws:glue:${local.scope}:database/${name}" }
    tables_of_the_database = { for noun, name in local.names.databases : noun => "arn:aws:glue:${local.scope}:table/${name}/*" }
  }
}
