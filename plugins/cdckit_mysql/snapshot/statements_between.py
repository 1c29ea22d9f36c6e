"""Statements that change definitions, looked for between two places of the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cdckit import DecodeError, Notices
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.streaming.log_pieces import KeptEvents
from cdckit_mysql.streaming.named_definitions import LookedAtDefinitions, LookedAtTables
from cdckit_mysql.streaming.opening import LogOpener
from cdckit_mysql.streaming.range_scan import WHOLE, RangeScan
from cdckit_mysql.streaming.transaction_cuts import CutOptions
from cdckit_mysql.table import Tables


class FoundStatement(NamedTuple):
    """A statement that changes definitions.

    Attributes:
        position: where it ends.
        ddl: its text.
        tables: the names that its tables have behind it; of one that is gone that of before.
    """

    position: str
    ddl: str
    tables: Sequence[str]

    def __str__(self) -> str:
        return f"{self.position}: {self.ddl}"


class _Found(Notices):
    """What a reader of the log meets."""

    def __init__(self) -> None:
        self.statements: list[FoundStatement] = []

    def schema_changed(self, position: str, ddl: str, tables: Sequence[str]) -> None:
        self.statements.append(FoundStatement(position, ddl, tables))


def statements_between(
    config: MySqlConfig, filters: Filters, dialect: Dialect, tables: Tables, start: LogOffset, end: LogOffset
) -> tuple[list[FoundStatement], str | None]:
    """The statements between two places of one server, in order.

    Args:
        config: the source's options.
        filters: what is captured.
        dialect: whose statements they are.
        tables: the definitions at `start`.
        start: the one place.
        end: the other.

    Returns:
        They, and why one contradicts the definitions, where one does: those behind it are not looked for.

    Raises:
        RetriableSourceError: the connection was lost.
    """
    found = _Found()
    strict = config.model_copy(update={"schema_history_internal_skip_unparseable_ddl": False})
    definitions = LookedAtDefinitions(LookedAtTables.of(tables), strict, filters, dialect, notices=found)
    connection, start = LogOpener(config, follow=False, by_file=True)(start)
    with connection:
        if (start.file, start.pos) == (end.file, end.pos):
            return [], None
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
        except DecodeError as error:  # the definitions contradict a statement
            contradiction = str(error)
    for tell in definitions.take_held():
        tell()
    return found.statements, contradiction
