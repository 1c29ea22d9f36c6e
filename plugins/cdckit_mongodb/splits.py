"""What the splits of this source carry: all that a reader in another process must know besides the configuration."""

from __future__ import annotations

from dataclasses import dataclass

Name = tuple[str, str]
"""A collection's database, and its name there."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a collection, or all of it.

    Attributes:
        database: the collection's database.
        collection: its name.
        low: the first `_id`, as BSON in hexadecimal; None: from the beginning.
        high: the `_id` before which to end; None: to the end.
        estimate: about how many documents there are.
        first_row: the number of its first document in the records' positions, which is that of a thousand.
        number: tells it from its collection's other parts.
        of: how many parts that has; 0 where that is not known before the last one.
        read_before: whether the document with the `_id` `low` itself was read.
    """

    database: str
    collection: str
    low: str | None = None
    high: str | None = None
    estimate: int = 0
    first_row: int = 0
    number: int = 0
    of: int = 1
    read_before: bool = False

    @property
    def full_name(self) -> str:
        """The collection as `database.name`."""
        return f"{self.database}.{self.collection}"


@dataclass(frozen=True, slots=True)
class SnapshotWork:
    """A whole snapshot, from where the split's start says.

    Attributes:
        with_documents: whether documents are read, or only the place in the stream is noted.
    """

    with_documents: bool


@dataclass(frozen=True, slots=True)
class ChunkWork:
    """Chunks of a snapshot which the stream completes; the split's end is of the moment that they count from.

    Of the batch, in one of its splits alone, to be told by table marks:

    Attributes:
        chunks: what to read.
        begun: the collections of which the first documents are read …
        ended: … and the last ones.
        ahead: those that later batches begin with.
        begins: whether the snapshot begins with this batch.
    """

    chunks: tuple[Chunk, ...]
    begun: tuple[Name, ...] = ()
    ended: tuple[Name, ...] = ()
    ahead: tuple[Name, ...] = ()
    begins: bool = True


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
