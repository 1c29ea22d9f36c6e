"""The predicates of Kafka Connect."""
