"""Incremental snapshots: tables or collections read in chunks while the log is followed.

The algorithm is that of "DBLog: A Watermark Based Change-Data-Capture Framework" (Netflix, 2019), as Debezium has it:
a chunk is read between two watermarks, and what the log tells of its rows between them is newer than the chunk.
"""

from __future__ import annotations

from cdckit.connector.incremental.chunks import Chunk, Chunks, NotYetError, UnreadableError
from cdckit.connector.incremental.key_order import KeyOrder, for_placeholders
from cdckit.connector.incremental.listener import SignalListener
from cdckit.connector.incremental.signalled_snapshots import SignalledSnapshots
from cdckit.connector.incremental.snapshot import Finished, IncrementalSnapshot
from cdckit.connector.incremental.state import IncrementalState, Wanted
from cdckit.connector.incremental.table_marks import TableMarks
from cdckit.connector.incremental.watermarks import CLOSE, OPEN, Watermarks
from cdckit.connector.incremental.window import Window

__all__ = [
    "CLOSE",
    "OPEN",
    "Chunk",
    "Chunks",
    "Finished",
    "IncrementalSnapshot",
    "IncrementalState",
    "KeyOrder",
    "NotYetError",
    "SignalListener",
    "SignalledSnapshots",
    "TableMarks",
    "UnreadableError",
    "Wanted",
    "Watermarks",
    "Window",
    "for_placeholders",
]
