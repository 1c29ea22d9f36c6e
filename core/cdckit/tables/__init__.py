"""The kit for sinks that keep Spark tables: their contract, names of tables and folders, faults that pass."""
