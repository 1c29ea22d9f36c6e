"""Plans ranges of the log: pieces that workers may read at the same time, each with the definitions at its start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cdckit.record import Offset
from cdckit.source import Notify, Split
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.history import SchemaHistory
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server import Dialect
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.opened_log import OpenLog
from cdckit_mysql.streaming.opening import LogOpener
from cdckit_mysql.streaming.survey import LogPiece, LogSurvey
from cdckit_mysql.table import Tables

KEPT_BYTES = 1 << 20
"""A range with at most so many bytes of events travels within its split."""
LEAST_PIECE = 1 << 20
"""A piece of the log that a worker asks the server for has at least so many bytes."""


class LogPlanner:
    """Plans for one source.

    Args:
        config: the source's options.
        filters: what is captured.
        dialect: whose log it is.
        history: where definitions are found, and noted.
        notify: told of changed definitions.
        run_id: the run's id in the records' headers.
        open_log: gives the log; by default the server.
    """

    def __init__(
        self,
        config: MySqlConfig,
        filters: Filters,
        dialect: Dialect,
        history: SchemaHistory,
        notify: Notify,
        run_id: str,
        *,
        open_log: OpenLog | None = None,
    ) -> None:
        self._config = config
        self._filters = filters
        self._dialect = dialect
        self._history = history
        self._notify = notify
        self._run_id = run_id
        self._open_log = open_log or LogOpener(config, follow=False, by_file=True)
        self._known: tuple[str, Tables] | None = None

    def cut(self, start: LogOffset, end: LogOffset, size: int) -> LogOffset:
        """The first end of a transaction that lies at least `size` bytes behind `start`, or `end`."""
        with self._survey(start, piece_bytes=size, kept_bytes=0) as (survey, _):
            return survey.first(end)

    def splits(self, start: Offset, end: Offset, size: int, parallelism: int) -> list[Split]:
        """The pieces between two offsets, as splits.

        Args:
            start: where the range begins.
            end: where it ends.
            size: about how many bytes it has.
            parallelism: how many pieces are wanted.
        """
        pieces = self._pieces(LogOffset.from_json(start), LogOffset.from_json(end), size // max(1, parallelism))
        starts = [piece.start.to_json() for piece in pieces]
        return [
            Split(first, last, self._work(piece, number))
            for number, (piece, first, last) in enumerate(zip(pieces, starts, [*starts[1:], end], strict=True))
        ]

    def _pieces(self, start: LogOffset, end: LogOffset, size: int) -> list[LogPiece]:
        with self._survey(start, piece_bytes=max(LEAST_PIECE, size), kept_bytes=KEPT_BYTES) as (survey, definitions):
            pieces = survey.pieces(end)
            self._known = (end.position.prefix, definitions.tables.copy())
            return pieces

    @contextmanager
    def _survey(
        self, start: LogOffset, *, piece_bytes: int, kept_bytes: int
    ) -> Iterator[tuple[LogSurvey, Definitions]]:
        definitions = Definitions(
            self._tables_at(start),
            self._config,
            self._filters,
            self._dialect,
            history=self._history,
            notify=self._notify,
        )
        connection, start = self._open_log(start)
        self._history.moved(start.position, definitions.tables)
        with connection:
            survey = LogSurvey(
                connection,
                definitions,
                start,
                mariadb=self._dialect.mariadb,
                piece_bytes=piece_bytes,
                kept_bytes=kept_bytes,
            )
            yield survey, definitions

    def _tables_at(self, offset: LogOffset) -> Tables:
        if self._known is not None and self._known[0] == offset.position.prefix:
            return self._known[1].copy()
        return self._history.tables_at(offset.position)

    def _work(self, piece: LogPiece, number: int) -> LogWork:
        return LogWork(
            piece.tables if piece.changes else self._captured(piece.tables),
            self._dialect,
            self._run_id,
            reader=number + 1,
            events=None if piece.events is None else tuple(piece.events),
            checksums=piece.checksums,
        )

    def _captured(self, tables: Tables) -> Tables:
        """Only what events of captured tables need: where no definition changes the others mean nothing."""
        chosen = Tables(lower_case_table_names=tables.lower_case_table_names)
        for table in tables:
            if self._filters.captures(*table.id):
                chosen.put(table)
        return chosen


def bytes_between(files: dict[str, int], start: LogOffset, end: LogOffset) -> int:
    """How many bytes of the log lie between two offsets, by the sizes of its files."""
    names = [name for name in files if start.file <= name <= end.file]
    return max(0, sum(files[name] for name in names[:-1]) + end.pos - start.pos) if names else 0
