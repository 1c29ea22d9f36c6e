"""Delta tables by delta-rs, in the process that has the rows."""

from cdckit.tables.delta import allocator

allocator.load()
