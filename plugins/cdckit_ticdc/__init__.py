"""Reads what TiCDC, Debezium or cdckit put on Kafka, or into files, as a source."""
