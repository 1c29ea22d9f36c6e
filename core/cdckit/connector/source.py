"""A source that captures a database: what its life has that is the same whatever the database."""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import ClassVar, Generic, TypeVar

from cdckit.api.batch import Batch
from cdckit.api.record import Offset
from cdckit.api.snapshotting import SnapshotMode
from cdckit.api.source import Source, SourceContext, Split
from cdckit.api.state_store import StateStore
from cdckit.connector.incremental.state import IncrementalState
from cdckit.connector.notifications.listener import SnapshotListener
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.offset import ConnectorOffset, chunk_follows, with_chunks
from cdckit.connector.options.connector import ConnectorOptions
from cdckit.connector.resnapshot import Resnapshot
from cdckit.connector.rows_again import RowsAgain, without_unfinished
from cdckit.connector.signals.mailbox import Mailbox
from cdckit.errors import SnapshotDueError, SourceError, StateError

log = logging.getLogger("cdckit.connector")

Config = TypeVar("Config", bound=ConnectorOptions)
At = TypeVar("At", bound=ConnectorOffset)


class ConnectorSource(Source, Generic[Config, At]):
    """Reads a snapshot of what is captured, and follows the database's log from there.

    A source says by the abstract methods how its database is asked and read; when that is done is decided here.

    Args:
        config: the source's options.
        offsets: the class of its offsets.
        mode: what `snapshot.mode` says.
        unread: the table or collection that counts as captured, though no snapshot reads it; empty: none.
    """

    tells_marks = True
    lost_error: ClassVar[type[SourceError]]
    """Raised where the server has the log no more at an offset."""
    end_polls: ClassVar[tuple[float, float]] = (0.025, 0.1)
    """How often, in seconds, the server is asked for its log's end while that is waited for: at first, and once the log
    has been still for a second."""
    archived = False
    """Whether the log is an archive's, without the database: it is read up to its end as it is now, which nobody waits
    for, and tables that are to be read again wait for the database."""
    snapshot_catches_up: ClassVar[bool] = False
    """Whether a whole snapshot of tables that are read again begins with the log up to its point; else, and for a sink
    of tables, the log is read first."""

    def __init__(self, config: Config, offsets: type[At], mode: SnapshotMode, *, unread: str = "") -> None:
        self._config = config
        self._offsets = offsets
        self._mode = mode
        self._unread = unread
        self._context = SourceContext(config.topic_prefix)
        self._mailbox: Mailbox | None = None
        self._waits_told = False
        self._begun: Mapping[int, At] = {}
        self._tells_ends = False
        self._again: RowsAgain[At] = RowsAgain(lambda: self._state, self._log_end, self._lies_before)

    def open(self, context: SourceContext) -> None:
        """Keeps the context; connects when something is asked.

        Raises:
            ConfigError: a channel of signals cannot be used.
            RetriableSourceError: that channel's server is away.
        """
        self._notifications = Notifications(self._config, self._config.topic_prefix, context.notices)
        self._told = SnapshotListener(self._notifications, context.notices, self._unread)
        self._context = replace(context, notices=self._told)
        if self._config.takes_signals and context.state is not None:
            self._mailbox = Mailbox(self._config, self._config.topic_prefix, context.inbox)

    def close(self) -> None:
        """Lets the connections go."""
        if self._mailbox is not None:
            self._mailbox.close()

    @property
    def streams(self) -> bool:
        """As `snapshot.mode` says."""
        return self._mode.streams

    def committed(self, offset: Offset) -> None:
        """Signals that the offset knows of need not be kept any more, nor what was asked for and is read."""
        if self._context.state is not None:
            self._again.settled(self._offsets.from_json(offset))
        if self._mailbox is not None:
            self._mailbox.committed()

    @property
    def _state(self) -> StateStore:
        if self._context.state is None:
            raise StateError("planning needs the pipeline's state")
        return self._context.state

    def begun(self, ends: Mapping[int, Offset]) -> None:
        """Keeps them for the splits of the log."""
        self._begun = {number: self._offsets.from_json(end) for number, end in ends.items()}

    def tell_ends(self, *, wanted: bool) -> None:
        """Keeps it for the splits of the log."""
        self._tells_ends = wanted

    def passed(self, offset: Offset, point: Offset) -> bool:
        """As the places in the log say; within a snapshot that is not finished nothing is passed."""
        at = self._offsets.kept(offset)
        return not at.snapshot_due and not self._lies_before(at, self._offsets.from_json(point))

    # -- where the log ends

    def log_end(self, offset: Offset) -> Offset:
        """Where the log ends now, whatever is to be read again."""
        end = self._end_beyond(self._located(self._offsets.kept(offset)))
        return offset if end is None else end.to_json()

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the log ends now, as soon as that is beyond `start`."""
        at = without_unfinished(self._start(self._offsets.kept(start)))
        self._again.settled(at)
        if at.snapshot_due:
            return self._snapshot_point(at).to_json()
        if not self.streams:
            return start
        at = self._located(at)
        end = self._end_before_rows(at) or self._awaited_end(at, 0.0 if self.archived else wait_seconds)
        return start if end is None else end.with_changes(incremental=at.incremental).to_json()

    def snapshot_point(self, start: Offset) -> Offset | None:
        """Of the first snapshot, or of tables that are read again once the log before that is read."""
        at = without_unfinished(self._start(self._offsets.kept(start)))
        self._again.settled(at)
        if at.snapshot_due:
            return self._snapshot_point(at).to_json()
        wanted = self._due(at)
        if wanted is None:
            return None
        # As it counts on the server that answers now: behind a failover places of the old log say nothing.
        at = self._located(at)
        if self._again.log_before(at) is not None:
            return None
        return self._again.ended(at, wanted).with_changes(incremental=at.incremental).to_json()

    def _end_before_rows(self, at: At) -> At | None:
        """Where the next batch ends, as long as tables are to be read again: the log as it was, then their chunks."""
        wanted = self._due(at)
        if wanted is None:
            self._again.forget_end()
            return None
        return self._again.log_before(at) or self._again.ended(at, wanted)

    def _awaited_end(self, at: At, wait_seconds: float) -> At | None:
        begun = time.monotonic()
        while True:
            if (end := self._end_beyond(at)) is not None:
                return end
            waited = time.monotonic() - begun
            if waited >= wait_seconds or self._context.stopping():
                return None
            time.sleep(self.end_polls[waited >= 1])
            at = self._located(at)  # another server may answer by now

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        """The end of a transaction about `max_bytes` beyond `start`; within a snapshot the end of a chunk."""
        first, last = self._offsets.from_json(start), self._offsets.from_json(end)
        if last.after_snapshot:
            place = self._cut_snapshot(first, last, max_bytes)
            return end if place is None else place.to_json()
        if first.snapshot_due:
            return end
        found = self._cut(first, last, max_bytes)
        return end if found is None else found.with_changes(incremental=last.incremental).to_json()

    # -- planning

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """The snapshot, whole or in chunks; or the log, open-ended or a range of it."""
        if start == end:
            return []
        at = self._offsets.kept(start)
        self._tell_what_waits(at)
        self._before_planning(at)
        if end is None:
            return self._plan_next(start)
        if self._offsets.from_json(end).after_snapshot:
            return self._plan_chunks(start, end, parallelism)
        return self._plan_range(start, end, parallelism)

    def _tell_what_waits(self, at: At) -> None:
        """Says once that a snapshot which a signal has asked for waits, where nobody listens to signals."""
        if at.incremental is None or self._mailbox is not None or self._waits_told:
            return
        self._waits_told = True
        left = IncrementalState.from_json(at.incremental)
        names = ", ".join(wanted.name for wanted in (*left.blocking, *left.wanted))
        log.warning("%s: the snapshot that a signal has asked for waits until the pipeline takes signals again", names)

    def _plan_next(self, start: Offset) -> Sequence[Split]:
        at = self._start(self._offsets.kept(start))
        wanted = None if at.snapshot_due else self._due(at)
        if wanted is not None:
            # Rows that are read again must not be older than what the log has told already: the log comes first, up to
            # where it ended when this was asked for. A moving end would put the rows off for as long as there are
            # changes.
            catches_up = self.snapshot_catches_up and not self._context.marks
            before = None if catches_up else self._again.log_before(self._located(at))
            if before is not None:
                return self.bounded(self._log_split(start, at), before.to_json())
            at = self._again.begun(at, wanted)
        if at.snapshot_due:
            return [self._snapshot_split(start, at)]
        if not self.archived:
            return [self._log_split(start, at)] if self.streams else []
        end = self.latest_offset(start)
        return [] if end == start else self.bounded(self._log_split(start, at), end)

    def owes_rows(self, start: Offset) -> bool:
        """As the state says; within a snapshot that is read in several batches the rest of it is owed."""
        at = self._offsets.from_json(start)
        return at.snapshot_begun or self._due(at) is not None

    def chunk_follows(self, offset: Offset) -> bool:
        """Where a signal's incremental snapshot goes on."""
        return chunk_follows(offset)

    def with_chunks(self, offset: Offset, later: Offset) -> Offset:
        """By how far the signals' incremental snapshot is at either."""
        return with_chunks(offset, later)

    def _due(self, at: At) -> Resnapshot | None:
        """The tables that are to be read again beyond `at`."""
        wanted = self._again.due(at)
        if wanted is None or not self.archived:
            return wanted
        self._again.put_off(wanted)
        return None

    # -- reading

    def _behind_snapshot(self, offset: Offset) -> bool:
        return not self._offsets.from_json(offset).snapshot_due

    def _ranged(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """A range's batches; the runner plans anew where the log is lost."""
        with self._snapshot_due_where_lost():
            yield from batches

    @contextmanager
    def _snapshot_due_where_lost(self) -> Iterator[None]:
        """Lets the runner plan anew where the server has the log no more and a snapshot may be taken for that."""
        try:
            yield
        except self.lost_error as error:
            raise SnapshotDueError(self._lost(error)) from error

    # -- what a source adds

    @abstractmethod
    def _start(self, at: At) -> At:
        """`at`, or a new beginning where a snapshot is to be taken instead of going on from it.

        Raises:
            SourceError: the place is gone from the log, and no snapshot is to be taken for that.
        """

    @abstractmethod
    def _lost(self, error: SourceError) -> str:
        """Takes note that the log is lost, so that the next start is a snapshot; gives the reason, for people.

        Raises:
            SourceError: none is to be taken for that.
        """

    @abstractmethod
    def _snapshot_point(self, at: At) -> At:
        """The point in the log that the chunks of a snapshot which is due at `at` must be followed from."""

    def _located(self, at: At) -> At:
        """`at` as it counts on the server that is connected now; itself where all servers have the same log."""
        return at

    @abstractmethod
    def _log_end(self, at: At) -> At:
        """Where the log ends now, as an offset behind `at`."""

    @abstractmethod
    def _end_beyond(self, at: At) -> At | None:
        """The same where that is beyond `at`; None where nothing came. It is asked often."""

    @abstractmethod
    def _lies_before(self, at: At, end: At) -> bool:
        """Whether the log is to be read from `at` up to `end`, which was the log's end."""

    def _cut(self, first: At, last: At, max_bytes: int) -> At | None:
        """See `cut`; None where less lies between, or where that cannot be told."""
        return None

    def _cut_snapshot(self, first: At, last: At, max_bytes: int) -> At | None:
        """A place within the chunks of a snapshot, between `first` and its end `last`, where a batch is to end.

        About `max_bytes` of the tables lie before it; None where less is left, or where it is read as one batch. Such a
        place is an offset at which a snapshot is due that has begun (`snapshot_begun`).
        """
        return None

    def _before_planning(self, at: At) -> None:
        """What is due before any splits from `at` on are planned; nothing by default."""
        return

    @abstractmethod
    def _snapshot_split(self, start: Offset, at: At) -> Split:
        """The whole snapshot that is due at `at`."""

    @abstractmethod
    def _log_split(self, start: Offset, at: At) -> Split:
        """The log from `start` on, open-ended."""

    @abstractmethod
    def _plan_chunks(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        """The chunks of a snapshot which the log behind `end` completes."""

    @abstractmethod
    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        """The log between two offsets."""
