output "names" {
  description = "Every name, by kind."
  value       = local.names
}

output "arns" {
  description = "The ARNs that policies need, by kind."
  value       = local.arns
}
