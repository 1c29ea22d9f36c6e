"""Delta tables by delta-rs, in the process that has the rows."""
