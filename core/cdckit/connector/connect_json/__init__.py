"""Kafka Connect's JSON: schemas and values."""
