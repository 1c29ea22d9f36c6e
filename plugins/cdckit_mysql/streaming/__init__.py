"""The log read as records: events to records, connections kept up, ranges planned."""
