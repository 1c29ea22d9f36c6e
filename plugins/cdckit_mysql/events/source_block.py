"""The `source` block of an event: where in the source it comes from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from cdckit import INT32, INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, Struct, logical, struct_schema
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.table import TableId

SnapshotMark = Literal["true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"]
_SNAPSHOT_MARKS = (
    "true",
    "first",
    "first_in_data_collection",
    "last_in_data_collection",
    "last",
    "false",
    "incremental",
)
_OLD_SNAPSHOT_MARKS = ("true", "last", "false", "incremental")
_NEW_MARKS = frozenset({"first", "first_in_data_collection", "last_in_data_collection"})
"""Those that Debezium 1 has not: it says `true`."""

_FRONT = {"version": STRING, "connector": STRING, "name": STRING, "ts_ms": INT64}
_TIMES = {"ts_us": OPTIONAL_INT64, "ts_ns": OPTIONAL_INT64}
_PLACE = {
    "table": OPTIONAL_STRING,
    "server_id": INT64,
    "gtid": OPTIONAL_STRING,
    "file": STRING,
    "pos": INT64,
    "row": INT32,
    "thread": OPTIONAL_INT64,
    "query": OPTIONAL_STRING,
}


@cache
def source_schema(connector: str) -> Schema:
    """The block's schema, as Debezium 3 has it for either connector."""
    marks = logical.snapshot_mark(_SNAPSHOT_MARKS)
    members = {**_FRONT, "snapshot": marks, "db": STRING, "sequence": OPTIONAL_STRING, **_TIMES, **_PLACE}
    return struct_schema(_name(connector), members, version=1)


@cache
def old_source_schema(connector: str) -> Schema:
    """The block's schema, as Debezium 1.9 has it."""
    marks = logical.snapshot_mark(_OLD_SNAPSHOT_MARKS)
    members = {**_FRONT, "snapshot": marks, "db": STRING, "sequence": OPTIONAL_STRING, **_PLACE}
    return struct_schema(_name(connector), members)


@cache
def oldest_source_schema(connector: str) -> Schema:
    """The block's schema, as Debezium 1.1 has it (its manual for MySQL, "Change event values")."""
    snapshot = Schema("boolean", optional=True, default=False)
    return struct_schema(_name(connector), {**_FRONT, "snapshot": snapshot, "db": STRING, **_PLACE})


@cache
def first_source_schema(connector: str) -> Schema:
    """The block's schema, as Debezium before 0.10 has it, and version 1 with `source.struct.version=v1`."""
    members = {
        "version": OPTIONAL_STRING,
        "connector": OPTIONAL_STRING,
        "name": STRING,
        "server_id": INT64,
        "ts_sec": INT64,
        "gtid": OPTIONAL_STRING,
        "file": STRING,
        "pos": INT64,
        "row": INT32,
        "snapshot": Schema("boolean", optional=True, default=False),
        "thread": OPTIONAL_INT64,
        "db": OPTIONAL_STRING,
        "table": OPTIONAL_STRING,
        "query": OPTIONAL_STRING,
    }
    return struct_schema(_name(connector), members)


def _name(connector: str) -> str:
    return f"io.debezium.connector.{connector}.Source"


class SourceBlocks(ABC):
    """Makes the blocks of one source: one for each group of rows that share all but their number.

    Attributes:
        schema: the blocks' schema.
    """

    schema: Schema

    def __init__(self, config: MySqlConfig) -> None:
        self._front = (version("cdckit"), config.connector, config.topic_prefix)

    @abstractmethod
    def block(
        self,
        table: TableId,
        time_us: int,
        file: str,
        pos: int,
        snapshot: SnapshotMark | None = None,
        server_id: int = 0,
        gtid: str | None = None,
        thread: int | None = None,
        query: str | None = None,
    ) -> Struct:
        """The block for row 0 of a table at one place.

        Args:
            table: the table.
            time_us: when the change was committed, in microseconds since 1970.
            file: the log file.
            pos: where in it the event begins.
            snapshot: the row's mark in a snapshot; None in the log, which the schema's default shows as `false`.
            server_id: the server that made the change.
            gtid: the transaction's identifier.
            thread: the connection that made the change (MySQL).
            query: the statement.
        """


class Blocks3(SourceBlocks):
    """Debezium 3's."""

    def __init__(self, config: MySqlConfig) -> None:
        super().__init__(config)
        self.schema = source_schema(config.connector)

    def block(
        self,
        table: TableId,
        time_us: int,
        file: str,
        pos: int,
        snapshot: SnapshotMark | None = None,
        server_id: int = 0,
        gtid: str | None = None,
        thread: int | None = None,
        query: str | None = None,
    ) -> Struct:
        """With the time in three units."""
        values: tuple[Any, ...] = (
            *self._front,
            time_us // 1000,
            snapshot,
            table.database,
            None,
            time_us,
            time_us * 1000,
            table.name,
            server_id,
            gtid,
            file,
            pos,
            0,
            thread,
            query,
        )
        return Struct(self.schema, values)


class OldBlocks(SourceBlocks):
    """Debezium 1.9's, and 1.1's: the first row of a snapshot or of a table has no mark of its own."""

    def __init__(self, config: MySqlConfig) -> None:
        super().__init__(config)
        self._oldest = config.event_format == "1.1"
        self.schema = (oldest_source_schema if self._oldest else old_source_schema)(config.connector)

    def block(
        self,
        table: TableId,
        time_us: int,
        file: str,
        pos: int,
        snapshot: SnapshotMark | None = None,
        server_id: int = 0,
        gtid: str | None = None,
        thread: int | None = None,
        query: str | None = None,
    ) -> Struct:
        """In milliseconds."""
        front = (*self._front, time_us // 1000)
        place = (table.name, server_id, gtid, file, pos, 0, thread, query)
        if self._oldest:
            return Struct(self.schema, (*front, snapshot and True, table.database, *place))
        mark = "true" if snapshot in _NEW_MARKS else snapshot
        return Struct(self.schema, (*front, mark, table.database, None, *place))


class FirstBlocks(SourceBlocks):
    """Those of Debezium before 0.10, as version 1 sends them with `source.struct.version=v1`."""

    def __init__(self, config: MySqlConfig) -> None:
        super().__init__(config)
        self._tells_when_read = config.event_format == "1.9"
        self.schema = first_source_schema(config.connector)

    def block(
        self,
        table: TableId,
        time_us: int,
        file: str,
        pos: int,
        snapshot: SnapshotMark | None = None,
        server_id: int = 0,
        gtid: str | None = None,
        thread: int | None = None,
        query: str | None = None,
    ) -> Struct:
        """In seconds; those of a snapshot are 0 in Debezium 1.1."""
        seconds = time_us // 1_000_000 if snapshot is None or self._tells_when_read else 0
        place = (server_id, seconds, gtid, file, pos, 0, snapshot and True, thread)
        return Struct(self.schema, (*self._front, *place, table.database, table.name, query))


def source_blocks(config: MySqlConfig) -> SourceBlocks:
    """What makes blocks in the format that a configuration asks for."""
    if config.event_format == "3":
        return Blocks3(config)
    return FirstBlocks(config) if config.source_struct_version == "v1" else OldBlocks(config)
