"""What `cdc plugin` does: distributions of plugins written, and checked."""
