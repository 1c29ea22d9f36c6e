"""Columns: what a message tells of their types, the schema that becomes of it, and how values are read."""
