"""Records out of rows: names, schemas, source blocks, envelopes."""
