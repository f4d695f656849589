locals {
  functions = {
    sqs_processor = {
      description  = "Messages of all topic queues to the delivery stream"
      seconds      = 60
      megabytes    = 256
      asynchronous = false
    }
    firehose_transform = {
      description  = "Names the table of every record that the delivery stream holds"
      seconds      = 60
      megabytes    = 256
      asynchronous = false
    }
    dlq_drainer = {
      description  = "Dead letters to archive, index and dlq_errors"
      seconds      = 60
      megabytes    = 256
      asynchronous = false
    }
    dlq_replay = {
      description  = "Archived dead letters back to their queues, on request"
      seconds      = 900
      megabytes    = 256
      asynchronous = true
    }
    circuit_breaker = {
      description  = "Stops a topic's deliveries when its errors pile up, and probes until they can go on"
      seconds      = 300 # A probe waits for sqs_processor, and takes up to 90.
      megabytes    = 256
      asynchronous = true
    }
    schema_validator = {
      description  = "Uploaded contracts: validated, compared, tables made or altered"
      seconds      = 300
      megabytes    = 1024
      asynchronous = true
    }
    topic_discovery = {
      description  = "Pub/Sub topics that the lake does not know yet"
      seconds      = 300
      megabytes    = 512
      asynchronous = true
    }
  }

  variables = {
    LEANOPS_ENVIRONMENT          = var.environment
    LEANOPS_ACCOUNT              = var.account
    LEANOPS_REGION               = var.region
    POWERTOOLS_METRICS_NAMESPACE = "lean-ops"
    POWERTOOLS_LOG_LEVEL         = var.log_level
  }

  variables_of = {
    topic_discovery = merge(
      { LEANOPS_GCP_SECRET = var.names.gcp_secret },
      var.gcp_project == null ? {} : { LEANOPS_GCP_PROJECT = var.gcp_project },
    )
  }
}

module "function" {
  source   = "../function"
  for_each = local.functions

  name                 = var.names.functions[each.key]
  description          = each.value.description
  handler              = "lambdas.${each.key}.handler.handler"
  package              = "${var.packages}/${each.key}.zip"
  package_bucket       = var.names.buckets.schemas
  package_prefix       = var.names.keys.packages
  account              = var.account
  region               = var.region
  policy               = local.policies[each.key]
  variables            = merge(local.variables, { POWERTOOLS_SERVICE_NAME = each.key }, lookup(local.variables_of, each.key, {}))
  timeout_seconds      = each.value.seconds
  memory_megabytes     = each.value.megabytes
  reserved_concurrency = lookup(var.reserved_concurrency, each.key, -1)
  log_days             = var.log_days
  key_arn              = var.key_arn
  failure_topic_arn    = each.value.asynchronous ? var.arns.notifications : null
}

# Empty: the key of the GCP service account is put in by hand, and is in no state and no repository.
resource "aws_secretsmanager_secret" "gcp" {
  name                    = var.names.gcp_secret
  description             = "JSON key of the GCP service account that may list Pub/Sub topics, for topic_discovery"
  kms_key_id              = var.key_arn
  recovery_window_in_days = 7
}
