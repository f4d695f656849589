"""Finds Pub/Sub topics that the lake does not know, registers them and tells people. It never enables processing."""
