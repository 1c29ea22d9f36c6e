"""What the splits of this source carry: all that a reader in another process must know besides the configuration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from cdckit.connector.resnapshot import Resnapshot
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.events import SchemaEvent
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.snapshot.chunk_plan import Chunk
from cdckit_mysql.streaming.begun_transaction import BegunTransaction
from cdckit_mysql.streaming.other_tables import OtherTables
from cdckit_mysql.streaming.spool import SpooledEvents
from cdckit_mysql.table import Table, Tables


@dataclass(frozen=True, slots=True)
class SnapshotWork:
    """A whole snapshot at one consistent point.

    Attributes:
        epoch: that of its positions.
        with_rows: whether rows are read, or only definitions.
        since: where the one before stood, which was not finished; the log tells what has changed since.
        again: the tables that are read, those of a pipeline that was behind its snapshot; None: all of them.
    """

    epoch: int
    with_rows: bool
    since: LogOffset | None = None
    again: Resnapshot | None = None


@dataclass(frozen=True, slots=True)
class ChunkWork:
    """Chunks of a snapshot which the log completes; the split's end is the point that they stand for.

    Attributes:
        chunks: what to read.
        dialect: of the server that they are read from.
        run_id: the run's id in the records' headers.
        told: what the schema-change topic is told of the snapshot's definitions, before its rows.
        begun: the tables that the snapshot begins to read here, to be told of by table marks; in one of the splits of
            a batch alone.
        ended: those that it has read all of.
        ahead: those that it begins to read in a later batch, where this is the first of several.
        first: whether this is the snapshot's first batch.
        captured: all captured tables, beside those.
    """

    chunks: tuple[Chunk, ...]
    dialect: Dialect
    run_id: str
    told: tuple[SchemaEvent, ...] = ()
    begun: tuple[Table, ...] = ()
    ended: tuple[Table, ...] = ()
    ahead: tuple[Table, ...] = ()
    first: bool = True
    captured: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class LogWork:
    """A range of the log, or all of it from the split's start on.

    Attributes:
        tables: the definitions in force at its start; of a range that was looked at those that it names.
        dialect: whose log it is.
        run_id: the run's id in the records' headers.
        reader: tells apart the readers that read at the same time.
        events: the bytes of its events, where the planner has them and they are few; None: ask the server.
        spooled: the file that the planner has put them in; whoever does not find it asks the server.
        checksums: whether those end in checksums.
        gtids: the transactions up to the split's end, where others may stand between its own and they alone tell the
            end; else None.
        here: whether only the server will do at which the split's end was noted.
        part: whether it begins or ends within a transaction, which other readers have the rest of.
        begun: what it must know of a transaction that it begins within; else None.
        others: the captured tables at its start, where its statements make table marks, which tell of those that it
            does not name, too; None: `tables` has all that are told of.
        ends: by their numbers, where batches end of which a sink has a part, behind the split's start.
        tells_ends: whether batches are to tell where each record ends.
    """

    tables: Tables
    dialect: Dialect
    run_id: str
    reader: int = 0
    events: tuple[bytes, ...] | None = None
    spooled: SpooledEvents | None = None
    checksums: bool = False
    gtids: str | None = None
    here: bool = False
    part: bool = False
    begun: BegunTransaction | None = None
    others: OtherTables | None = None
    ends: Mapping[int, LogOffset] = field(default_factory=dict)
    tells_ends: bool = False

    def unnamed(self) -> Callable[[], Iterable[Table]]:
        """Gives the captured tables that `tables` does not have now: whoever reads changes that."""
        others, named = self.others, self.tables.copy()
        if others is None:
            return tuple
        return lambda: (table for table in others.tables() if table.id not in named)

    def until(self, end: LogOffset) -> LogOffset:
        """Where it ends, as the log that is read tells it: by transactions, where they alone do.

        Args:
            end: the split's end.
        """
        return end if self.gtids is None else end.with_changes(file="", pos=0, gtids=self.gtids)

    def only_server(self, start: LogOffset, end: LogOffset | None, *, listens: bool) -> str | None:
        """The identity of the only server that a split may be read at; None: any of the topology.

        Pieces that are read together must have the positions of one server; so must what signals are answered by.
        """
        if self.reader:
            return start.server
        return end.server if end is not None and (listens or self.here) else None
