"""Records that tell of changed definitions: the schema-change topic."""
