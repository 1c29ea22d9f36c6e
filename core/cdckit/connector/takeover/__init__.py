"""What Debezium's connectors leave behind, for a pipeline that goes on in their place: offsets, schema histories."""
