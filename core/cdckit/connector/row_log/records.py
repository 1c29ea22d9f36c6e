"""The records of all tables of such a source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from cdckit.connector.avro_names import schema_names
from cdckit.connector.context_headers import context_headers
from cdckit.connector.row_log.database import Change, Table
from cdckit.connector.row_log.options import RowLogOptions
from cdckit.connector.table_events import RecordOptions, Row, TableEvents
from cdckit.connector.topic_owners import TopicOwners
from cdckit.connector.topics import Topics

_IN_LOG, INCREMENTAL, WHOLE = range(3)
"""What stands in positions behind the log's number: rows that were found come behind the log's own."""


class RowRecords:
    """Makes them.

    Args:
        config: the source's options.
        source: the schema of the source block.
        block: gives it for rows of a table, with what it says of a snapshot, and the row of the log or None.
    """

    def __init__(
        self, config: RowLogOptions, source: Schema, block: Callable[[Table, str, Change | None], Struct]
    ) -> None:
        self.topics = Topics(config, config.topic_prefix)
        self._skipped = config.skipped
        self._block = block
        self._owners = TopicOwners("merge" if self.topics.shared else config.topic_collisions)
        self._options = RecordOptions(
            context_headers(config.topic_prefix, config.connector) if config.extended_headers_enabled else (),
            source,
            tombstones=config.tombstones_on_delete,
            schema_name=schema_names(config.schema_name_adjustment_mode),
        )
        self._kept: dict[str, tuple[Table, TableEvents]] = {}

    def of_change(self, table: Table, change: Change) -> list[Record]:
        """The records of one row of the log."""
        if change.operation in self._skipped:
            return []
        events, source, prefix = self._of(table), self._block(table, "false", change), _position(change.number, _IN_LOG)
        if change.operation == "u":
            return events.updates([(change.before, change.after)], source, prefix)
        if change.operation == "d":
            return events.deletes([change.before], source, prefix)
        return events.creates([change.after], source, prefix)

    def found(
        self, table: Table, rows: Sequence[Row], number: int, first: int = 0, part: int = 0, *, way: int = WHOLE
    ) -> list[Record]:
        """The records of rows as they are.

        Args:
            table: their table.
            rows: the rows.
            number: the row of the log behind which they come.
            first: how many of the part there were before.
            part: tells rows apart that are found behind the same row of the log.
            way: of a snapshot of the whole table, or an incremental one.
        """
        source = self._block(table, "true" if way == WHOLE else "incremental", None)
        return self._of(table).reads(rows, source, f"{_position(number, way)}-{part:06d}", 0, first)

    def _of(self, table: Table) -> TableEvents:
        known = self._kept.get(table.id)
        if known is None or (known[0] is not table and known[0] != table):
            known = self._kept[table.id] = (table, self._made(table))
        return known[1]

    def _made(self, table: Table) -> TableEvents:
        name = (table.database, table.name)
        self._owners.take(self.topics.data(name), table.id)
        key = {column: table.columns[column] for column in table.key}
        return TableEvents.named(self.topics, name, dict(table.columns), key, self._options)


def _position(number: int, way: int) -> str:
    return f"{number:020d}-{way}"
