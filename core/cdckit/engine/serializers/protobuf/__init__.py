"""Kafka Connect's data as Protobuf with a schema registry."""
