"""A source that captures the tables of an SQLite file, made on the kit for databases."""
