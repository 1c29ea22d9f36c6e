"""OpenLineage: what is told of a pipeline's runs, of what it reads and what it writes, as Debezium tells it."""
