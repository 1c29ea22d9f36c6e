"""What is taken over from Debezium's connectors."""
