locals {
  environment = "prod"
}

module "edge" {
  source = "../../modules/edge"

  environment        = local.environment
  account            = var.account
  region             = var.region
  topics             = jsondecode(file("${path.root}/${var.topics_file}")).topics
  packages           = "${path.root}/${var.packages}"
  emails             = var.emails
  producer_role_arns = var.producer_role_arns
  gcp_project        = var.gcp_project

  protected       = true
  log_level       = "INFO"
  noncurrent_days = 90
  archive_days    = 2920

  # 700 topics at 2 calls each are 1,400; AWS raises the account's quota of 1,000 on request.
  reserved_concurrency = {
    sqs_processor      = 500
    firehose_transform = 100
    dlq_drainer        = 50
    dlq_replay         = 2
    circuit_breaker    = 5
    schema_validator   = 5
    topic_discovery    = 1
  }
}
