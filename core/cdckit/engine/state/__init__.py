"""State stores: where offsets, the schema history and snapshot progress live."""
