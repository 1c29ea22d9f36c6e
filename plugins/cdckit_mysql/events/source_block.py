"""The `source` block of an event: where in the source it comes from."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any, Literal

from cdckit.schema import INT32, INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, struct_schema
from cdckit.struct import Struct
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.table import TableId

SnapshotMark = Literal["true", "first", "first_in_data_collection", "last_in_data_collection", "last", "incremental"]
_SNAPSHOT_MARKS = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"


@cache
def source_schema(connector: str) -> Schema:
    """The block's schema, as Debezium 3 has it for either connector."""
    members = {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": Schema(
            "string",
            optional=True,
            default="false",
            name="io.debezium.data.Enum",
            version=1,
            parameters={"allowed": _SNAPSHOT_MARKS},
        ),
        "db": STRING,
        "sequence": OPTIONAL_STRING,
        "ts_us": OPTIONAL_INT64,
        "ts_ns": OPTIONAL_INT64,
        "table": OPTIONAL_STRING,
        "server_id": INT64,
        "gtid": OPTIONAL_STRING,
        "file": STRING,
        "pos": INT64,
        "row": INT32,
        "thread": OPTIONAL_INT64,
        "query": OPTIONAL_STRING,
    }
    return struct_schema(f"io.debezium.connector.{connector}.Source", members, version=1)


class SourceBlocks:
    """Makes the blocks of one source: one for each group of rows that share all but their number."""

    def __init__(self, config: MySqlConfig) -> None:
        self.schema = source_schema(config.connector)
        self._front = (version("cdckit"), config.connector, config.topic_prefix)

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
