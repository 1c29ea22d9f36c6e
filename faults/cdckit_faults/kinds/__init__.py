"""The kinds of faults."""
