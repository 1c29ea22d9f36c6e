"""Transactions left out by who numbered them (`gtid.source.includes`, `gtid.source.excludes`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit.connector.include_lists import Choice
from cdckit_mysql.binlog.events import AnonymousGtid, Gtid, LogEvent, MariaDbGtid, TaggedGtid
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.binlog.tables import TableMapEvent
from cdckit_mysql.options.capture import GtidOptions
from cdckit_mysql.streaming.gtid_start import source_names

Handlers = dict[type[LogEvent], Callable[[Any], None]]


def filter_sources(handlers: Handlers, options: GtidOptions) -> None:
    """Lets rows pass only in transactions of the sources that are chosen, where the options choose; else does nothing.

    Args:
        handlers: what is done with each event; rows that are left out are handled as the announcement of a table is.
        options: which sources.
    """
    chosen = Choice(options.gtid_source_includes, options.gtid_source_excludes)
    if chosen and options.gtid_source_filter_dml_events:
        _SourceFilter(handlers, chosen)


class _SourceFilter:
    """Knows whether the transaction in hand is one that is captured; those without a GTID are."""

    def __init__(self, handlers: Handlers, chosen: Choice) -> None:
        self._chosen = chosen
        self._wanted = True
        rows, left_out = handlers[RowsEvent], handlers[TableMapEvent]
        handlers[RowsEvent] = lambda event: rows(event) if self._wanted else left_out(event)
        for kind in (Gtid, TaggedGtid, AnonymousGtid, MariaDbGtid):
            handlers[kind] = self._asking(handlers[kind])

    def _asking(self, handle: Callable[[Any], None]) -> Callable[[Any], None]:
        def asked(event: Gtid | MariaDbGtid | AnonymousGtid) -> None:
            self._wanted = isinstance(event, AnonymousGtid) or self._chosen(*_names(event))
            handle(event)

        return asked


def _names(event: Gtid | MariaDbGtid) -> tuple[str, ...]:
    return (str(event.domain),) if isinstance(event, MariaDbGtid) else source_names(event.source)
