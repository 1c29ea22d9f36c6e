"""Incremental snapshots: tables or collections read in chunks while the log is followed.

The algorithm is that of "DBLog: A Watermark Based Change-Data-Capture Framework" (Netflix, 2019), as Debezium has it:
a chunk is read between two watermarks, and what the log tells of its rows between them is newer than the chunk.
"""

from __future__ import annotations

from cdckit.incremental.chunks import Chunk, Chunks, UnreadableError
from cdckit.incremental.snapshot import Finished, IncrementalSnapshot
from cdckit.incremental.state import IncrementalState, Wanted
from cdckit.incremental.watermarks import Watermarks
from cdckit.incremental.window import Window

__all__ = [
    "Chunk",
    "Chunks",
    "Finished",
    "IncrementalSnapshot",
    "IncrementalState",
    "UnreadableError",
    "Wanted",
    "Watermarks",
    "Window",
]
