"""The log at the server that writes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext

from cdckit import CdcError, Finding, Retention, RetriableSourceError, SnapshotMode, SourceError, Split, Unmatched
from cdckit_mysql.binlog.connection import FAR
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.renewal import HistoryRenewal
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import driver_errors, place
from cdckit_mysql.server.facts import Dialect, log_files
from cdckit_mysql.server.purging import Purging
from cdckit_mysql.server.readiness import readiness
from cdckit_mysql.snapshot.snapshots import ServerSnapshots
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.log_search import LogSearch
from cdckit_mysql.streaming.newly_captured import take_over_missing
from cdckit_mysql.streaming.opening import LogOpener, on_server, require_same_log
from cdckit_mysql.streaming.progress import is_beyond
from cdckit_mysql.streaming.retention import oldest_position, why_lost
from cdckit_mysql.table import Table, Tables

ANY = 1 << 63


class ServerOrigin:
    """See `LogOrigin`.

    Args:
        config: the source's options.
    """

    archived = False
    definitions: type[Definitions] = Definitions

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._asked = AskedServer(config)
        self._purging = Purging(config, self._asked)

    def check(self) -> Sequence[Finding]:
        """Whether server and user are fit."""
        return readiness(self._config)

    @property
    def dialect(self) -> Dialect:
        """Asked once, of the server that answers first."""
        return self._asked.dialect

    @property
    def farthest(self) -> int:
        """Any place of MySQL's, with GTIDs; else the command that asks for the log has no room for it."""
        server, _ = self._asked.ready()
        return ANY if server.gtids and not server.mariadb else FAR

    @property
    def lower_case_table_names(self) -> int:
        """The variable of that name of the server that answers now."""
        return self._asked.ready()[0].lower_case_table_names

    def begin(self, history: SchemaHistory) -> LogOffset:
        """The begin of the oldest log file; no definition is known there."""
        server, connection = self._asked.ready()
        with driver_errors(self._config, "asking for the oldest log file"):
            start = oldest_position(connection, server)
        history.start(start.position, Tables(lower_case_table_names=server.lower_case_table_names))
        return start

    def before(self, time_ms: int) -> LogOffset:
        """See `LogSearch`."""
        found = self._search().before(time_ms)
        return self._asked.log_end() if found is None else found

    def around(self, epoch: int, number: int, pos: int) -> tuple[LogOffset, LogOffset]:
        """See `LogSearch`."""
        begin, end = self._search().around(number, pos)
        places = begin, self._asked.log_end() if end is None else end
        return places[0].with_changes(epoch=epoch), places[1].with_changes(epoch=epoch)

    def _search(self) -> LogSearch:
        server, connection = self._asked.ready()
        with driver_errors(self._config, "asking for the log files"):
            files = list(log_files(connection))
        return LogSearch(self._config, server.identity, files, mariadb=server.mariadb)

    def begin_from(self, at: LogOffset, history: SchemaHistory, renewal: HistoryRenewal) -> None:
        """The server tells the definitions that the history lacks, if none has changed since."""
        server, connection = self._asked.ready()
        with driver_errors(self._config, "asking for the log files"):
            reason = why_lost(connection, server, at, self._config)
        if reason is not None:
            raise SourceError(f"{place(self._config)}: {reason}", number="CDC3101")
        if history.reaches(at.position):
            return
        try:
            renewal.from_server(at)
        except RetriableSourceError:
            raise
        except SourceError as error:
            raise SourceError(f"{error}; or name a state that knows them, as one does that was read with there",
                              number="CDC3501") from error  # fmt: skip

    def located(self, at: LogOffset) -> LogOffset:
        """`at` as it counts on the server that answers now; raises as `on_server`."""
        return on_server(at, self._asked.ready()[0], place(self._config))

    def end(self, at: LogOffset) -> LogOffset:
        """As the server says."""
        return self._asked.log_end().with_changes(epoch=at.epoch, ts_sec=int(time.time()))

    def is_beyond(self, end: LogOffset, at: LogOffset) -> bool:
        """Nothing is where another server has begun to answer meanwhile."""
        if not at.same_log(end):
            return False
        mariadb = self.dialect.mariadb
        if not mariadb:
            require_same_log(at, end, place(self._config))
        return is_beyond(end, at, mariadb=mariadb)

    def bytes_between(self, start: LogOffset, end: LogOffset) -> int:
        """By the sizes of the log's files."""
        return self._asked.bytes_between(start, end)

    def cuts(self, start: LogOffset) -> bool:
        """A server's log may be cut wherever a transaction ends."""
        return True

    def come_to(self, at: LogOffset) -> LogOffset:
        """A server knows its places."""
        return at

    def lag_bytes(self, at: LogOffset) -> int | None:
        """By the sizes of the log's files; not known of another server's, nor while the connection is lost."""
        if not self._asked.connected:
            return None
        end = self._asked.log_end()
        return max(0, self._asked.bytes_between(at, end)) if at.server in (None, end.server) else None

    def retention(self, at: LogOffset) -> Retention | None:
        """By the server's files and settings; not known of another server's, nor while the connection is lost."""
        if not self._asked.connected or at.by_gtid:
            return None
        try:
            return self._purging.retention(at)
        except CdcError:
            return None

    def check_retention(self, at: LogOffset) -> Retention | None:
        """The same where nothing is connected yet.

        Raises:
            SourceError: the server cannot be reached, or refuses.
        """
        return None if at.by_gtid else self._purging.retention(at)

    def load(self, names: Collection[str]) -> Mapping[str, int]:
        """The status variables of these names."""
        return self._asked.load(names)

    def opener(self, split: Split | None = None, *, listens: bool = False) -> LogOpener:
        """Asks the server; the log is followed where it has no end, or signals are listened to."""
        if split is None:
            return LogOpener(self._config, follow=False, by_file=True)
        work, start = split.payload, LogOffset.from_json(split.start)
        end = None if split.end is None else LogOffset.from_json(split.end)
        follow = end is None or listens
        return LogOpener(
            self._config,
            reader=work.reader,
            attempt=split.attempt,
            follow=follow,
            by_file=not follow,
            only=work.only_server(start, end, listens=listens),
            whole=not work.part,
            ends=work.ends,
        )

    def faults(self) -> AbstractContextManager[None]:
        """A server may be asked again."""
        return nullcontext()

    def take_over_missing(self, filters: Filters, definitions: Definitions, position: LogPosition) -> None:
        """The definitions of captured tables that the history lacks, as the server has them now."""
        take_over_missing(self._asked.ready()[1], self._config, filters, definitions, position)

    def snapshots(
        self,
        filters: Filters,
        mode: SnapshotMode,
        renewal: HistoryRenewal,
        history: Callable[[], SchemaHistory],
        run_id: str,
    ) -> ServerSnapshots:
        """Those of the server's tables."""
        return ServerSnapshots(self._config, filters, mode, self._asked, renewal, history, run_id)

    def readable(self, filters: Filters) -> Sequence[str]:
        """The captured tables that the server has now."""
        return self._asked.captured(filters)

    def defined(self, table: str) -> Table:
        """As the server shows it."""
        return self._asked.defined(table)

    def unmatched(self) -> Sequence[Unmatched]:
        """Of the lists of databases and of tables."""
        return self._asked.unmatched_entries()

    def close(self) -> None:
        """Lets the connection go."""
        self._asked.close()
