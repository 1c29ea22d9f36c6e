"""The sinks that write lines: files and standard output."""
