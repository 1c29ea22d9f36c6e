"""cdckit: change data capture in Python."""
