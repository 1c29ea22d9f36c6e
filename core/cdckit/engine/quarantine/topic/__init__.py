"""The quarantine in a topic of Kafka."""
