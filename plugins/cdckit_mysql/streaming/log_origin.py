"""Where a log comes from: the server that writes it, or files that were copied from there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from cdckit import Finding, Retention, SnapshotMode, Split, Unmatched
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.schema_history.renewal import HistoryRenewal
from cdckit_mysql.server.facts import LogFacts
from cdckit_mysql.snapshot.snapshots import Snapshots
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.opened_log import OpenLog
from cdckit_mysql.table import Table


class LogOrigin(LogFacts, Protocol):
    """What a source asks where its log is. Nobody is asked before the first question.

    Attributes:
        archived: whether the log is read without its server; see `ConnectorSource`.
        definitions: what holds the definitions in force where it is read.
    """

    archived: bool
    definitions: type[Definitions]

    @property
    def farthest(self) -> int:
        """The first place in a file that no reader can be sent to."""

    def check(self) -> Sequence[Finding]:
        """Whether it is fit to be read, for `cdc validate --connect`."""

    # -- places in the log

    def begin(self, history: SchemaHistory) -> LogOffset:
        """The oldest place that a pipeline without an offset may begin at; the history knows the definitions there."""

    def before(self, time_ms: int) -> LogOffset:
        """The place before the first transaction that was committed at a time or later; the end where there is none.

        Raises:
            ConfigError: a time cannot be found here.
            SourceError: the log does not reach back to it.
        """

    def around(self, epoch: int, number: int, pos: int) -> tuple[LogOffset, LogOffset]:
        """The places before and behind the transaction of the event that ends at a place of a file.

        Raises:
            ConfigError: places cannot be found here.
            SourceError: there is no such file.
        """

    def begin_from(self, at: LogOffset, history: SchemaHistory, renewal: HistoryRenewal) -> None:
        """Sees to it that the log can be read from an offset on, with the definitions there.

        Raises:
            SourceError: it cannot.
        """

    def located(self, at: LogOffset) -> LogOffset:
        """`at` as it counts here: in the log of another server than before the place is one by GTID.

        Raises:
            SourceError: it cannot be found here.
        """

    def end(self, at: LogOffset) -> LogOffset:
        """Where the log ends now, always between two transactions, as an offset behind `at`."""

    def is_beyond(self, end: LogOffset, at: LogOffset) -> bool:
        """Whether there is anything to be read from `at`, which is located, up to the log's end.

        Raises:
            PositionLostError: the log was begun anew.
        """

    def bytes_between(self, start: LogOffset, end: LogOffset) -> int:
        """About how much of the log lies between two places."""

    def cuts(self, start: LogOffset) -> bool:
        """Whether a range that begins at `start` may be cut."""

    def come_to(self, at: LogOffset) -> LogOffset:
        """`at`, to which this log was looked at: that it is a place in it need not be found out any more."""

    def lag_bytes(self, at: LogOffset) -> int | None:
        """How much of the log is left beyond `at`; None where that cannot be told."""

    def retention(self, at: LogOffset) -> Retention | None:
        """How long the log is kept from `at` on; asks where a connection is there, and raises nothing."""

    def load(self, names: Collection[str]) -> Mapping[str, int]:
        """Figures of how busy the server is; raises where there is none."""

    # -- reading

    def opener(self, split: Split | None = None, *, listens: bool = False) -> OpenLog:
        """What opens the log.

        Args:
            split: to be read; None: for planning.
            listens: whether signals are listened to beside it.
        """

    def faults(self) -> AbstractContextManager[None]:
        """Within it, a fault of the log is told as what it is here."""

    def take_over_missing(self, filters: Filters, definitions: Definitions, position: LogPosition) -> None:
        """Takes definitions of captured tables that are not known, if they can be had beside the log."""

    # -- tables

    def snapshots(
        self,
        filters: Filters,
        mode: SnapshotMode,
        renewal: HistoryRenewal,
        history: Callable[[], SchemaHistory],
        run_id: str,
    ) -> Snapshots:
        """What plans the snapshots of its tables."""

    def readable(self, filters: Filters) -> Sequence[str]:
        """The captured tables that there are, but for that of signals.

        Raises:
            ConfigError: none can be read here.
        """

    def defined(self, table: str) -> Table:
        """The definition that one of these tables has now.

        Raises:
            ConfigError: none can be told here.
            SourceError: there is no such table any more.
        """

    def unmatched(self) -> Sequence[Unmatched]:
        """The entries of the include lists that match nothing, as far as that can be told."""

    def close(self) -> None:
        """Lets all connections go."""
