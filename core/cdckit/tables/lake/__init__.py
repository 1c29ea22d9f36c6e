"""What sinks of tables in a lake share, whatever the format, where the process that has the rows writes them."""

from cdckit.tables.allocators import load_arrow

load_arrow()
