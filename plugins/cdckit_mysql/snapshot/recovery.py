"""Makes the schema history anew from the server (`snapshot.mode=recovery`), where that is safe.

The definitions that the server has now are those at the saved offset only if no statement has changed one in between:
the log is looked through for that.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from cdckit import DecodeError, Notices, SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.connection import place
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.snapshot.consistent_point import consistent_point
from cdckit_mysql.streaming.log_pieces import KeptEvents
from cdckit_mysql.streaming.named_definitions import LookedAtDefinitions, LookedAtTables
from cdckit_mysql.streaming.opening import LogOpener, on_server
from cdckit_mysql.streaming.range_scan import WHOLE, RangeScan
from cdckit_mysql.streaming.transaction_cuts import CutOptions
from cdckit_mysql.table import Tables

log = logging.getLogger("cdckit.mysql")


def recover_history(
    config: MySqlConfig, filters: Filters, history: SchemaHistory, dialect: Dialect, at: LogOffset
) -> None:
    """Puts the server's definitions in the place of the whole history, as those in force at `at`.

    Raises:
        SourceError: a definition has changed since; the message says where and by what.
        RetriableSourceError: the connection was lost.
    """
    with consistent_point(config, filters) as point:
        tables, end, server = point.tables, point.offset, point.server
    change = _first_change(config, filters, dialect, tables, on_server(at, server, place(config)), end)
    if change is not None:
        raise SourceError(
            f"the schema history cannot be made anew at {at.position}: definitions have changed since ({change}), and "
            "the server tells only those of now; start with a new state folder, which takes a new snapshot",
            number="CDC3501",
        )
    history.rebuild(at.position, tables)
    log.info("the schema history was made anew at %s, with the definitions of %d tables", at.position, len(tables))


class _Changes(Notices):
    """The changes of definitions that a reader of the log meets."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def schema_changed(self, position: str, ddl: str, tables: Sequence[str]) -> None:
        self.found.append(f"{position}: {ddl}")


def _first_change(
    config: MySqlConfig, filters: Filters, dialect: Dialect, tables: Tables, start: LogOffset, end: LogOffset
) -> str | None:
    """The first statement between two offsets that changes a definition, or None."""
    changes = _Changes()
    strict = config.model_copy(update={"schema_history_internal_skip_unparseable_ddl": False})
    definitions = LookedAtDefinitions(LookedAtTables.of(tables), strict, filters, dialect, notices=changes)
    connection, start = LogOpener(config, follow=False, by_file=True)(start)
    with connection:
        if (start.file, start.pos) == (end.file, end.pos):
            return None
        scan = RangeScan(
            connection,
            definitions,
            start,
            mariadb=dialect.mariadb,
            cuts=CutOptions(WHOLE),
            keep=lambda: KeptEvents(0, None),
            patience=config.connect_keep_alive_interval_ms / 1000,
        )
        contradiction = None
        try:
            scan.next(end, WHOLE)
        except DecodeError as error:  # the definitions of now contradict a statement: it was carried out since
            contradiction = str(error)
    for tell in definitions.take_held():
        tell()
    return changes.found[0] if changes.found else contradiction
