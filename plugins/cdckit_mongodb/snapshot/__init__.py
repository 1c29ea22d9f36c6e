"""Reading collections as they are now."""
