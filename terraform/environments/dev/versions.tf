terraform {
  required_version = ">= 1.11"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.25.0"
    }
  }

  # The bucket is given to `terraform init -backend-config=bucket=…`.
  backend "s3" {
    key          = "lean-ops/edge.tfstate"
    encrypt      = true
    use_lockfile = true
  }
}

provider "aws" {
  region              = var.region
  allowed_account_ids = [var.account]

  default_tags {
    tags = {
      application = "lean-ops"
      environment = local.environment
    }
  }
}
