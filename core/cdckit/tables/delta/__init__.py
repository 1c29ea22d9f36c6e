"""Delta tables by delta-rs, in the process that has the rows."""

from cdckit.tables.allocators import load_delta_rs

load_delta_rs()
