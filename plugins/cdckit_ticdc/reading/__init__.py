"""Where messages come from: files and Kafka."""
