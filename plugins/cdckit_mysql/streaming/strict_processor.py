"""A processor that stops at what it cannot read, whatever the options say, and notes nothing of what it meets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cdckit import Record
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.streaming.event_counts import CountingProcessor
from cdckit_mysql.streaming.log_origin import LogOrigin
from cdckit_mysql.streaming.passed_over import RowsFacts
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.processor_parts import ProcessorParts
from cdckit_mysql.streaming.reselection import Reselection
from cdckit_mysql.table import Tables

_STOPS = {"event_deserialization_failure_handling_mode": "fail", "inconsistent_schema_handling_mode": "fail"}


class StrictProcessors:
    """Makes such processors for one source.

    Args:
        config: the source's options.
        filters: what is captured.
        origin: where the log is.
        versions: gives what makes records of a dialect's rows.
        reselection: reads columns of changed rows again; None where none are to be read.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        origin: LogOrigin,
        versions: Callable[[Dialect], TableVersions],
        reselection: Reselection | None,
    ) -> None:
        self._config = config.model_copy(update=_STOPS)
        self._filters = filters
        self._origin = origin
        self._versions = versions
        self._reselection = reselection

    def counting(self, at: LogOffset, tables: Tables) -> LogProcessor:
        """One that counts the events of rows, and makes none.

        Args:
            at: where it begins.
            tables: the definitions there; they become its own.
        """
        return CountingProcessor(self._parts(at, tables))

    def again(self, event: RowsEvent, facts: RowsFacts, tables: Tables) -> Sequence[Record]:
        """The records of an event that was given away, by these definitions.

        Raises:
            DecodeError: it cannot be decoded.
        """
        parts = replace(self._parts(facts.offset, tables), reselection=self._reselection)
        return LogProcessor(parts).again(event, facts)

    def _parts(self, at: LogOffset, tables: Tables) -> ProcessorParts:
        dialect = self._origin.dialect
        definitions = self._origin.definitions(tables, self._config, self._filters, dialect)
        return ProcessorParts(self._config, self._filters, self._versions(dialect), definitions, at)
