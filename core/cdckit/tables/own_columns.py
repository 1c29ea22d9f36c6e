"""What rows of one table have in a query of one's own beside the table's columns, and what their metadata say."""

from __future__ import annotations

OP, POSITION, TIME = "_op", "_position", "_ts"
"""The operation, the place in commit order, and when the source committed the change."""

KEY = "cdckit.key"
"""What the metadata of a key's column has: its place in the key, from 0; in those of `POSITION` all names in order."""

TABLE = "cdckit.table"
"""What the metadata of `POSITION` has: whose rows these are."""
