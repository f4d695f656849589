output "key" {
  description = "The KMS key. Spark jobs and producers of other accounts need it."
  value       = module.encryption.key
}

output "buckets" {
  description = "The buckets: lake, schemas, archive."
  value       = module.storage.buckets
}

output "tables" {
  description = "The DynamoDB tables, by noun."
  value       = module.state.tables
}

output "databases" {
  description = "The Glue databases, by layer."
  value       = module.catalog.databases
}

output "queues" {
  description = "The topics' queues, by topic: where the bridge sends."
  value       = module.topic_queues.queues
}

output "dead_letter_queues" {
  description = "The dead letter queues, by topic."
  value       = module.topic_queues.dead_letter_queues
}

output "mappings" {
  description = "The event source mappings to sqs_processor, by topic."
  value       = module.functions.mappings
}

output "dead_letter_mappings" {
  description = "The event source mappings to dlq_drainer, by topic."
  value       = module.functions.dead_letter_mappings
}

output "functions" {
  description = "The functions, by noun."
  value       = module.functions.functions
}

output "policies" {
  description = "What each function may do: access is its own, runtime what every function needs."
  value       = module.functions.policies
}

output "log_groups" {
  description = "The functions' log groups, by noun."
  value       = module.functions.log_groups
}

output "rules" {
  description = "What calls functions by event or by the clock."
  value       = module.functions.rules
}

output "delivery_stream" {
  description = "The delivery stream."
  value       = module.delivery.stream
}

output "sns_topics" {
  description = "The SNS topics: notifications, alarms."
  value       = module.alarms.topics
}

output "alarms" {
  description = "Every alarm, by name."
  value       = module.alarms.alarms
}

output "gcp_secret" {
  description = "The name of the secret that waits for the key of the GCP service account."
  value       = local.names.gcp_secret
}
