"""Records out of documents and change events: names, schemas, source blocks, envelopes."""
