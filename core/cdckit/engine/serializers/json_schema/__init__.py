"""Kafka Connect's data as JSON with JSON Schema, and the schema registry."""
