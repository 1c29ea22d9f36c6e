"""Following the change stream."""
