locals {
  names = module.naming.names
  arns  = module.naming.arns

  # AWS asks for six times the function's timeout, and for the time in which a batch gathers on top.
  visibility_seconds = 6 * 60 + var.batch_seconds

  maximum_concurrency = { for topic, settings in var.topics : topic => settings.maximum_concurrency }
}

module "naming" {
  source = "../naming"

  environment = var.environment
  account     = var.account
  region      = var.region
  topics      = keys(var.topics)
}

module "encryption" {
  source = "../encryption"

  prefix               = local.names.prefix
  alias                = local.names.key_alias
  account              = var.account
  region               = var.region
  producer_role_arns   = var.producer_role_arns
  deletion_window_days = var.protected ? 30 : 7
}

module "storage" {
  source = "../storage"

  buckets         = local.names.buckets
  key_arn         = module.encryption.key_arn
  protected       = var.protected
  noncurrent_days = var.noncurrent_days
  archive_days    = var.archive_days
}

module "state" {
  source = "../state"

  names     = local.names.tables
  key_arn   = module.encryption.key_arn
  protected = var.protected
}

module "topic_queues" {
  source = "../topic_queues"

  queues                       = local.names.queues
  dead_letter_queues           = local.names.dead_letter_queues
  key_arn                      = module.encryption.key_arn
  producer_role_arns           = var.producer_role_arns
  processor_visibility_seconds = local.visibility_seconds
  drainer_visibility_seconds   = local.visibility_seconds
}

module "catalog" {
  source = "../catalog"

  databases = local.names.databases
  warehouse = "s3://${module.storage.buckets["lake"].bucket}/${local.names.keys.warehouse}"
}

module "alarms" {
  source = "../alarms"

  prefix              = local.names.prefix
  account             = var.account
  notifications       = local.names.notifications
  alarms              = local.names.alarms
  emails              = var.emails
  key_arn             = module.encryption.key_arn
  queues              = local.names.queues
  dead_letter_queues  = local.names.dead_letter_queues
  functions           = local.names.functions
  delivery_stream     = local.names.delivery_stream
  uploads_rule        = local.names.rules.schema_uploads
  topic_error_percent = var.topic_error_percent
}

module "functions" {
  source = "../functions"

  environment            = var.environment
  account                = var.account
  region                 = var.region
  names                  = merge(local.names, { buckets = { for noun, bucket in module.storage.buckets : noun => bucket.bucket } })
  arns                   = local.arns
  key_arn                = module.encryption.key_arn
  alarms_topic_arn       = module.alarms.topics["alarms"].arn
  packages               = var.packages
  queue_arns             = { for topic, queue in module.topic_queues.queues : topic => queue.arn }
  dead_letter_queue_arns = { for topic, queue in module.topic_queues.dead_letter_queues : topic => queue.arn }
  maximum_concurrency    = local.maximum_concurrency
  reserved_concurrency   = var.reserved_concurrency
  gcp_project            = var.gcp_project
  batch_seconds          = var.batch_seconds
  log_level              = var.log_level
  log_days               = var.log_days
}

module "delivery" {
  source = "../delivery"

  name             = local.names.delivery_stream
  account          = var.account
  region           = var.region
  catalog_arn      = local.arns.catalog
  database_arn     = local.arns.databases.raw
  tables_arn       = local.arns.tables_of_the_database.raw
  lake_bucket_arn  = local.arns.buckets.lake
  tables_prefix    = "${local.names.keys.warehouse}/${local.names.databases.raw}"
  error_bucket_arn = module.storage.buckets["archive"].arn
  error_prefix     = local.names.keys.delivery_errors
  transform_arn    = module.functions.arns["firehose_transform"]
  key_arn          = module.encryption.key_arn
  log_days         = var.log_days

  depends_on = [module.catalog]
}

check "reserved_concurrency" {
  assert {
    condition     = sum(concat([0], values(local.maximum_concurrency))) <= lookup(var.reserved_concurrency, "sqs_processor", 1000)
    error_message = "All topics together may call sqs_processor more often at a time than is reserved for it, or than an account's usual 1,000. What Lambda throttles uses up a message's receives: raise the quota, then the reservation."
  }
}
