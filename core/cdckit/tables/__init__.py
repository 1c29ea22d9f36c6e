"""The kit for sinks that keep tables: their contract, names, rows as columns, and how they follow definitions."""
