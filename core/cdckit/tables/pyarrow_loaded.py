"""Loads pyarrow; who always needs it imports this before whatever else does."""

from cdckit.tables.allocators import load_arrow

load_arrow()
