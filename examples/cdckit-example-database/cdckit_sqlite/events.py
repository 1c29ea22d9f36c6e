"""What becomes a record: the kit's events of tables, with a source block of SQLite's."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from cdckit import INT64, OPTIONAL_INT64, STRING, Record, Struct, logical, struct_schema
from cdckit.connector.avro_names import schema_names
from cdckit.connector.context_headers import context_headers
from cdckit.connector.table_events import RecordOptions, TableEvents
from cdckit.connector.topics import Topics
from cdckit_sqlite.config import SqliteConfig
from cdckit_sqlite.log import Change, Table

_MARKS = ("true", "last", "false", "incremental")
_SOURCE = struct_schema(
    "io.debezium.connector.sqlite.Source",
    {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": logical.snapshot_mark(_MARKS),
        "db": STRING,
        "table": STRING,
        "id": OPTIONAL_INT64,
    },
)


class Events:
    """Makes the records of all tables."""

    def __init__(self, config: SqliteConfig) -> None:
        self._config = config
        self._topics = Topics(config, config.topic_prefix)
        self._options = RecordOptions(
            context_headers(config.topic_prefix, config.connector) if config.extended_headers_enabled else (),
            _SOURCE,
            tombstones=config.tombstones_on_delete,
            schema_name=schema_names(config.schema_name_adjustment_mode),
        )
        self._of: dict[str, tuple[Table, TableEvents]] = {}

    def change(self, table: Table, change: Change) -> list[Record]:
        """The records of one row of the log."""
        if change.op in self._config.skipped:
            return []
        made, source = self._table(table), self._source(table, "false", change.number, change.ms)
        prefix = f"{change.number:020d}-0"
        if change.op == "u":
            return made.updates([(change.old, change.new)], source, prefix)
        make = made.creates if change.op == "c" else made.deletes
        return make([change.new if change.op == "c" else change.old], source, prefix)

    def reads(
        self, table: Table, rows: Sequence[tuple[Any, ...]], behind: int, number: int, part: int = 0, mark: str = "true"
    ) -> list[Record]:
        """The records of rows that were found, behind the log's row `behind`; `number` of the part were before."""
        source = self._source(table, mark, None, 0)
        return self._table(table).reads(rows, source, f"{behind:020d}-{1 + part}", 0, number)

    def _table(self, table: Table) -> TableEvents:
        known = self._of.get(table.name)
        if known is None or known[0] != table:
            name = ("main", table.name)
            key = {column: table.columns[column] for column in table.key}
            topic, mark = self._topics.data(name), self._topics.key_mark(name)
            schemas = self._topics.schemas(name)
            made = TableEvents(topic, table.columns, key, self._options, schemas=schemas, key_mark=mark)
            known = self._of[table.name] = (table, made)
        return known[1]

    def _source(self, table: Table, mark: str, number: int | None, ms: int) -> Struct:
        config = self._config
        place = (version("cdckit-example-database"), config.connector, config.topic_prefix, ms)
        return Struct(_SOURCE, (*place, mark, "main", table.name, number))
