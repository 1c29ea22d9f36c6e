"""What a sink holds compared with its source, while both move."""
