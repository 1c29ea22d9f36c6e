"""Kafka Connect's data as Avro with a schema registry."""
