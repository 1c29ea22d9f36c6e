"""What the splits of this source carry: all that a reader in another process must know besides the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.events import SchemaEvent
from cdckit_mysql.server import Dialect, RowLogging
from cdckit_mysql.snapshot.chunk_plan import Chunk
from cdckit_mysql.table import Tables


@dataclass(frozen=True, slots=True)
class SnapshotWork:
    """A whole snapshot at one consistent point.

    Attributes:
        epoch: that of its positions.
        with_rows: whether rows are read, or only definitions.
        since: where the one before stood, which was not finished; the log tells what has changed since.
    """

    epoch: int
    with_rows: bool
    since: LogOffset | None = None


@dataclass(frozen=True, slots=True)
class ChunkWork:
    """Chunks of a snapshot which the log completes; the split's end is the point that they stand for.

    Attributes:
        chunks: what to read.
        rows: how the server shows rows.
        run_id: the run's id in the records' headers.
        told: what the schema-change topic is told of the snapshot's definitions, before its rows.
    """

    chunks: tuple[Chunk, ...]
    rows: RowLogging
    run_id: str
    told: tuple[SchemaEvent, ...] = ()


@dataclass(frozen=True, slots=True)
class LogWork:
    """A range of the log, or all of it from the split's start on.

    Attributes:
        tables: the definitions in force at its start.
        dialect: whose log it is.
        run_id: the run's id in the records' headers.
        reader: tells apart the readers that read at the same time.
        events: the bytes of its events, where the planner has them; None: ask the server.
        checksums: whether those end in checksums.
    """

    tables: Tables
    dialect: Dialect
    run_id: str
    reader: int = 0
    events: tuple[bytes, ...] | None = None
    checksums: bool = False
