"""What the splits of this source carry: all that a reader in another process must know besides the configuration."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a collection, or all of it.

    Attributes:
        database: the collection's database.
        collection: its name.
        low: the first `_id`, as BSON in hexadecimal; None: from the beginning.
        high: the `_id` before which to end; None: to the end.
        estimate: about how many documents there are.
        first_row: the number of its first document in the records' positions.
        number: tells it from its collection's other parts.
        of: how many parts that has.
    """

    database: str
    collection: str
    low: str | None = None
    high: str | None = None
    estimate: int = 0
    first_row: int = 0
    number: int = 0
    of: int = 1


@dataclass(frozen=True, slots=True)
class SnapshotWork:
    """A whole snapshot, from where the split's start says.

    Attributes:
        with_documents: whether documents are read, or only the place in the stream is noted.
    """

    with_documents: bool


@dataclass(frozen=True, slots=True)
class ChunkWork:
    """Chunks of a snapshot which the stream completes; the split's end is the moment that they count from.

    Attributes:
        chunks: what to read.
        marked: the collections that the snapshot reads, to be told of by table marks; in one of its splits alone.
    """

    chunks: tuple[Chunk, ...]
    marked: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StreamWork:
    """A range of the stream, or all of it from the split's start on.

    Attributes:
        group: the number of the group of collections whose changes are read; None: those of all collections.
        closed: whether what comes next is read from the split's end as it was planned, which knows of no transaction
            in hand: it ends there.
    """

    group: int | None = None
    closed: bool = False
