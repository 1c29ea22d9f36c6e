"""Many pipelines in one call of `cdc run`: a process each, kept running."""
