"""Records of the schema-change topic."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from cdckit import Record, Struct
from cdckit.connector.avro_names import schema_names
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import SchemaChange
from cdckit_mysql.events.source_block import SnapshotMark
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import SNAPSHOT_RUNNING, LogOffset, record_position
from cdckit_mysql.schema_changes.events import SchemaEvent, SchemaEvents
from cdckit_mysql.schema_changes.formats import FORMATS
from cdckit_mysql.table import TableId, Tables

BlockOf = Callable[[TableId], Struct]
"""Gives the source block for a table."""

_PARTITION = 0
"""All records of the topic go there, so that the order of changes is one for all databases."""
_AT_A_TIME = 200
"""So many events of a snapshot make one batch."""


class SchemaChangeRecords:
    """Makes the records of one source.

    Args:
        config: the source's options.
        filters: what is captured.
        versions: what makes records of rows: headers, source blocks and topics are theirs.
    """

    def __init__(self, config: MySqlConfig, filters: Filters, versions: TableVersions) -> None:
        self._topic = versions.topics.schema_changes
        self._headers = versions.headers
        self._blocks = versions.blocks
        self._format = FORMATS[config.schema_change_format or config.event_format](
            config.connector,
            versions.blocks.schema,
            config.topic_prefix,
            comments=config.include_schema_comments,
            schema_name=schema_names(config.schema_name_adjustment_mode),
        )
        self._events = SchemaEvents(config, filters, self._format.told)

    def of_statement(
        self, changes: Sequence[SchemaChange], tables: Tables, block_of: BlockOf, at: LogOffset, first: int
    ) -> list[Record]:
        """The records of what one statement of the log changed.

        Args:
            changes: what it changed.
            tables: the definitions after it.
            block_of: gives the source block for a table.
            at: where the log goes on behind it.
            first: the number of the first record in the records' positions.
        """
        events = self._format.grouped(list(self._events.of(changes, tables)))
        return [self._record(event, block_of, at, number) for number, event in enumerate(events, first)]

    def of_snapshot(self, events: Sequence[SchemaEvent], point: LogOffset, *, ends: bool) -> Iterator[list[Record]]:
        """The records of the definitions that a snapshot found at `point`, a few at a time, as tables may be many.

        Args:
            events: all of them.
            point: the snapshot's.
            ends: whether no rows follow them.
        """
        at = point.with_changes(snapshot=SNAPSHOT_RUNNING)
        last = len(events) - 1 if ends else None

        def block_of(number: int, table: TableId) -> Struct:
            mark: SnapshotMark = "last" if number == last else "true"
            return self._blocks.block(table, time.time_ns() // 1000, point.file, point.pos, mark)

        for first in range(0, len(events), _AT_A_TIME):
            yield [
                self._record(shown, partial(block_of, number), at, number)
                for number, event in enumerate(events[first : first + _AT_A_TIME], first)
                for shown in self._format.grouped([event])
            ]

    def _record(self, event: SchemaEvent, block_of: BlockOf, at: LogOffset, number: int) -> Record:
        block = block_of(TableId(event.database, event.tables or ""))
        source = block if event.tables is not None else block.replace(table=None)
        return Record(
            self._topic,
            self._format.key(event),
            self._format.value(event, source, at),
            self._headers,
            record_position(at.position.prefix, number),
            time.time_ns() // 1_000_000,
            _PARTITION,
        )
