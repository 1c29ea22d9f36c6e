"""How far a snapshot has come whose chunks are read in several batches: a place between two chunks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

MOST_NUMBER = 99_999
"""Positions number no more chunks (`MarkedRows`)."""


@dataclass(frozen=True, slots=True)
class SnapshotCursor:
    """Before it lie whole tables, in the order in which the snapshot takes them, and the first rows of one.

    Attributes:
        table: the full name of the table that comes next, or goes on.
        key: the last key that was read of it, as texts (`chunk_key.ChunkKey`); empty before its first row.
        part: how many chunks of it were read.
        chunk: the number of the next chunk among all of the snapshot.
    """

    table: str
    key: tuple[str, ...] = ()
    part: int = 0
    chunk: int = 0

    def to_json(self) -> dict[str, Any]:
        """What an offset keeps."""
        return {"table": self.table, "key": list(self.key), "part": self.part, "chunk": self.chunk}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any] | None) -> Self | None:
        """Reads what `to_json` gave; raises TypeError, KeyError or ValueError where it is nothing of that kind."""
        if not kept:
            return None
        key = kept["key"]
        if not isinstance(key, list) or not all(isinstance(text, str) for text in key):
            raise TypeError("the key of a snapshot's place is no list of texts")
        made = cls(str(kept["table"]), tuple(key), int(kept["part"]), int(kept["chunk"]))
        if min(made.part, made.chunk) < 0 or max(made.part, made.chunk) > MOST_NUMBER:
            raise ValueError("a number is out of range")
        return made
