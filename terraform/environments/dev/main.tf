locals {
  environment = "dev"
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

  # May be thrown away, and shares its account's concurrency with others.
  protected    = false
  log_level    = "DEBUG"
  archive_days = 365
}
