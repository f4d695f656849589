# Tables come from contracts (schema_validator), never from here.
resource "aws_glue_catalog_database" "this" {
  for_each = var.databases

  name         = each.value
  description  = "lean-ops, layer ${each.key}"
  location_uri = "${var.warehouse}/${each.value}"
}
