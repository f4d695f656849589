output "key_arn" {
  description = "The KMS key; whoever reads or writes the lake needs it, and so does the bridge."
  value       = module.edge.key.arn
}

output "queue_urls" {
  description = "Where the bridge sends, by topic."
  value       = { for topic, queue in module.edge.queues : topic => queue.id }
}

output "buckets" {
  description = "The buckets' names: lake, schemas, archive."
  value       = { for noun, bucket in module.edge.buckets : noun => bucket.bucket }
}

output "functions" {
  description = "The functions' names, by noun."
  value       = { for noun, function in module.edge.functions : noun => function.function_name }
}

output "sns_topic_arns" {
  description = "The SNS topics: notifications, alarms."
  value       = { for noun, topic in module.edge.sns_topics : noun => topic.arn }
}

output "alarms" {
  description = "The alarms' names."
  value       = sort(keys(module.edge.alarms))
}

output "gcp_secret" {
  description = "The name of the secret that waits for the key of the GCP service account."
  value       = module.edge.gcp_secret
}
