"""The contract of a source, the same for every runner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdckit.api.batch import Batch
from cdckit.api.checks import Unmatched
from cdckit.api.marks import TableExample
from cdckit.api.notices import UNHEARD, Notices
from cdckit.api.record import Offset, Record
from cdckit.api.retention import Retention
from cdckit.api.retry_schedule import RetrySchedule
from cdckit.api.source_counts import SourceCounts
from cdckit.api.state_store import StateStore
from cdckit.api.takeover import ConnectOffset, HistoryRecord
from cdckit.api.undecoded import Undecoded
from cdckit.errors import ConfigError, DecodeError, StateError


@dataclass(frozen=True, slots=True)
class SourceContext:
    """What a runner gives a source.

    Attributes:
        name: the pipeline's name.
        state: the pipeline's state store; None in a worker process, where `read` may not need one.
        notices: takes what the source tells of its work: changes of definition, how far a snapshot is.
        stopping: asked between batches; once true, `read` returns soon.
        idle_seconds: an open-ended `read` yields an empty batch at least this often.
        inbox: the folder where `cdc signal` leaves signals for this pipeline; None where none are taken.
        counts: where it counts what its records do not tell.
        starts: whether the pipeline starts with it; False where another one has planned in the same run already, so
            that what is due at every start was done.
        marks: whether batches are to carry table marks (`cdckit.api.marks`), for a sink that keeps tables. Records are
            the same in either case.
        undecoded: takes an event or message that cannot be decoded, and reading goes on behind it; None: it is to stop
            the pipeline. It raises a `DecodeError` where it takes no more.
        spool: a folder for what a planner has read already, where those that read splits are on the same machine, so
            that they need not ask for it again; None: there is none. It belongs to this source while it is open.
        bytes_per_second: how much of its log a planner takes in a second at the most; 0: as much as comes. A source
            that does not look at its log has nothing to hold back.
    """

    name: str
    state: StateStore | None = None
    notices: Notices = UNHEARD
    stopping: Callable[[], bool] = field(default=lambda: False)
    idle_seconds: float = 0.5
    inbox: Path | None = None
    counts: SourceCounts = field(default_factory=SourceCounts)
    starts: bool = True
    marks: bool = False
    undecoded: Callable[[Undecoded], None] | None = None
    spool: Path | None = None
    bytes_per_second: int = 0


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source's work which can be read alone, in any process that holds the source's config.

    Attributes:
        start: where it begins.
        end: where it ends; None: open-ended, it follows the log.
        payload: what else the source needs to read it: picklable, without secrets.
        records: an estimate, or None.
        attempt: the number of this attempt at reading it, from 0: those that overlap may need names of their own.
    """

    start: Offset
    end: Offset | None
    payload: Any = None
    records: int | None = None
    attempt: int = 0


class Source(ABC):
    """Reads changes out of one system. It is constructed with its config model's instance alone.

    Obligations: `plan` and `read` called again with the same offsets give the same changes again, or, for a
    snapshot, newer states whose later changes follow in the log. All that `read` must know is in the split and the
    config; no source knows which runner it is in. Records carry positions that sort in commit order.
    """

    tells_marks: bool = False
    """Whether it tells table marks where they are wanted. A sink of tables takes what it knows of the tables from them
    alone then, and not from records that say the same."""

    @abstractmethod
    def open(self, context: SourceContext) -> None:
        """Gets ready. Connects as late as possible.

        Raises:
            SourceError: the system cannot be reached, or refuses; the message says what to do.
        """

    @abstractmethod
    def initial_offset(self) -> Offset:
        """Where a pipeline without saved offset starts."""

    @abstractmethod
    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the log ends now.

        Waits up to `wait_seconds` for an end beyond `start`; gives `start` itself when nothing came. From a start
        where a snapshot is due, it is the point in the log that the snapshot's chunks must be followed from.
        """

    def log_end(self, offset: Offset) -> Offset:
        """Where the log ends now, behind an offset that may not be saved yet; itself where nothing came.

        Unlike `latest_offset` it takes no note of what the offset says is done.
        """
        return self.latest_offset(offset)

    def cut(self, start: Offset, end: Offset, max_bytes: int) -> Offset:
        """An offset to stop at before `end`, so that about `max_bytes` of log, or a little more, lie before it.

        It is one of the offsets where a split may end (never inside a transaction), beyond `start`; `end` itself
        where less lies between, or where the source cannot tell. Where a snapshot lies between, it may be the end of
        one of its chunks, with about so many bytes of the tables before it: `owes_rows` then says that more is to come.
        """
        return end

    @abstractmethod
    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """The splits that lie between two offsets, in order; nothing where `start` is at `end`.

        With `end` None: what comes next, alone; either the whole snapshot at one consistent point as one split (it
        ends; plan again from the offset that it reached) or the open-ended split of the log.
        With `end`: splits which may be read at the same time, up to `parallelism` of them where that makes sense;
        each key's order is that of the records' positions. Where the second begins at the offset that the first ends
        at, the first one's records come before all others. What is needed to plan beyond `end` later (the schema
        history) is durable when this returns.
        """

    def snapshot_point(self, start: Offset) -> Offset | None:
        """Where a snapshot ends that is to be read from `start` on, for `plan`; None where the log comes next.

        For a runner that reads a snapshot as one batch, and the log behind it open-ended. None by default.
        """
        return None

    def begun(self, ends: Mapping[int, Offset]) -> None:
        """Says what has been delivered in part behind the offset that is planned from next.

        Called before `plan` by a runner whose sink knows by positions what it has. A source whose positions are others
        at another server tells there what its batches hold of those (`Batch.begun`), until all of it has come. Not
        heard by default.

        Args:
            ends: by their numbers, the offsets of batches that were begun, up to each of which some tables have all.
        """
        return

    def tell_ends(self, *, wanted: bool) -> None:
        """Says whether batches of what is planned next are to tell where each record ends (`Batch.ends`).

        Called before `plan` by a runner that commits parts of batches, whose ends `begun` gets. Not heard by default.
        """
        return

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        """An open-ended split up to `end`, for a runner that reads it in the process that holds the state.

        Planned anew by default; a source whose `plan` looks at the log beforehand need not do so here.
        """
        return self.plan(split.start, end)

    def besides(self) -> Sequence[Record]:
        """What is due now and has no place in the log, such as a heartbeat; nothing by default.

        Asked between batches by a runner that has the log read elsewhere. What `read` gives of an open-ended split has
        such records among it.
        """
        return ()

    @abstractmethod
    def read(self, split: Split) -> Iterator[Batch]:
        """The split's records in batches, in commit order.

        Raises:
            RetriableSourceError: the connection is gone; the split may be planned and read again from the last offset.
            SourceError: it cannot go on.
            DecodeError: an event cannot be understood.
        """

    def decoded(self, piece: Undecoded) -> Sequence[Record]:
        """The records of what `SourceContext.undecoded` was once given, by today's options; none where it has none.

        Not known by default.

        Raises:
            DecodeError: it still cannot be decoded.
            SourceError: the system is asked for what that needs, and cannot be reached.
        """
        raise DecodeError("this source cannot decode a single event or message again")

    @property
    def streams(self) -> bool:
        """Whether a log is followed behind the snapshot, else the pipeline ends with that. True by default."""
        return True

    def retry_schedule(self) -> RetrySchedule:
        """When it is asked again after a `RetriableSourceError`. Asks nobody; by default without end."""
        return RetrySchedule()

    def adopt(self, offsets: Sequence[ConnectOffset], history: Iterator[HistoryRecord] | None) -> Offset:
        """Takes over from a connector of Debezium: makes the state what it would be had this source read so far.

        Not known by default.

        Args:
            offsets: the connector's, at least one.
            history: the records of its schema history, where it has one and the user gave it.

        Returns:
            The offset to go on from.

        Raises:
            StateError: reading cannot go on from there.
        """
        raise StateError("this source cannot go on from a connector of Debezium")

    def connector_offset(self, connector: str, offset: Offset) -> ConnectOffset:
        """What a connector of Debezium would have noted for a place: the way back from `adopt`. Asks nobody.

        Not known by default.

        Args:
            connector: the connector's name.
            offset: the place, an offset of this source.

        Raises:
            StateError: no connector can go on from there.
        """
        raise StateError("no connector of Debezium can go on from this source")

    def check_offset(self, offset: Offset) -> None:
        """Looks at an offset that a user gives (`cdc offsets set`). Asks nobody; everything is taken by default.

        Raises:
            StateError: it is no offset of this source; the message says what it lacks.
        """
        return

    def committed(self, offset: Offset) -> None:
        """Everything up to `offset` is safe in the sink. Nothing to do by default."""

    def readable(self) -> Sequence[str]:
        """The full names of the captured tables or collections that there are now, which can be read again.

        What `cdc resnapshot` asks for is kept in the state (`cdckit.connector.resnapshot`). Such a source begins to
        read it once the log is read up to where it ended when that was seen first, and carries it in the offsets of
        the rows.

        Raises:
            ConfigError: this source reads no tables.
            SourceError: the system cannot be reached, or refuses.
        """
        raise ConfigError("source.type: this source reads no tables, so that none can be read again", number="CDC2503")

    def offset_before(self, time_ms: int) -> Offset:
        """The place in the log before the first change that was committed at a time or later; its end if none was.

        Not known by default.

        Args:
            time_ms: the time, in ms since 1970.

        Raises:
            ConfigError: this source cannot find a time in its log.
            SourceError: the log does not reach back to it any more.
        """
        raise ConfigError("source.type: no time can be found in this source's log: give an offset", number="CDC2402")

    def around(self, position: str) -> tuple[Offset, Offset] | None:
        """The places before and behind the transaction that a record's position lies in; None: it is no position here.

        Not known by default.

        Raises:
            SourceError: the log does not reach back to it any more.
        """
        return None

    def begin_from(self, offset: Offset) -> None:
        """Gets ready to read the log from an offset on that was not read to with this state.

        Nothing to do by default.

        Raises:
            SourceError: the log does not reach back to it any more, or what is needed to read it is not known.
        """
        return

    def example(self, table: str) -> TableExample:
        """Records of one of the `readable` tables, by the definition that it has now; what its rows have as columns.

        Needs no state. Not known by default.

        Args:
            table: its full name, as `readable` has it.

        Raises:
            ConfigError: this source tells no definitions.
            SourceError: the system cannot be reached, refuses, or does not have the table any more.
        """
        raise ConfigError("source.type: this source does not tell which columns its tables have", number="CDC2503")

    def gone(self) -> Sequence[str]:
        """The full names of captured tables that the state knows of and the system has no more; none by default.

        `cdc resnapshot` takes them, too: a sink of tables may wait for one that was dropped or renamed since.
        """
        return ()

    def unmatched(self) -> Sequence[Unmatched]:
        """The entries of the include lists that match nothing; none where that cannot be told.

        Raises:
            SourceError: the system cannot be reached, or refuses.
        """
        return ()

    def owes_rows(self, start: Offset) -> bool:
        """Whether tables are to be read again beyond `start`, or the rest of a snapshot.

        Asks nobody; False by default.
        """
        return False

    def chunk_follows(self, offset: Offset) -> bool:
        """Whether rows of a table follow behind `offset` though nothing changes: the next part of what is read again.

        Asks nobody; False by default.
        """
        return False

    def with_chunks(self, offset: Offset, later: Offset) -> Offset:
        """An offset behind the parts, too, of what is read again that a later one is behind; itself if there are none.

        For a runner whose sink has the rows of these parts, and that reads what else lies between once more. Where
        something is read again from its first part on, an offset is to be saved before that is given out
        (`Batch.save`), so that between two saved offsets lie parts of one table alone. Asks nobody; none by default.
        """
        return offset

    def passed(self, offset: Offset, point: Offset) -> bool:
        """Whether all that lies before `point`, an end of the log, lies before `offset` too.

        Asked after the log was read up to `point`. By default only an equal offset is known to.
        """
        return offset == point

    def load(self, names: Collection[str]) -> Mapping[str, int]:
        """How busy the system is, by figures of its own; one that it does not have is left out. Not known by default.

        Raises:
            ConfigError: it tells none.
            SourceError: it cannot be reached, or refuses.
        """
        raise ConfigError("--max-load: this source does not tell how busy its system is; rows a second can be limited")

    def as_it_was(self, start: Offset, at: Offset) -> Iterator[tuple[Batch, bool]]:
        """The rows that have changed behind `start` as they were at `at`; then all that they have been since.

        Asked where `SourceConfig.looks_up_rows` is true, of an offset that `ends_exactly`, after the log was read up to
        `start`.

        Returns:
            Batches, and with each whether its rows are of behind `at`.

        Raises:
            SourceError: the system does not keep that any more.
        """
        raise NotImplementedError

    def lag_bytes(self, offset: Offset) -> int | None:
        """How many bytes of the log lie between `offset` and its end now, or None where that cannot be told.

        Asked from the thread that reads, after an offset is saved; cheap, and raises nothing.
        """
        return None

    def lag_messages(self, offset: Offset) -> int | None:
        """The same in messages, for a log that consists of them; None for others."""
        return None

    def retention(self, offset: Offset) -> Retention | None:
        """How long the log is kept from a saved offset on, or None where that cannot be told, as by default.

        Asked once a minute, at the most every few seconds at the start, from the thread that reads, on connections that
        are there anyway; cheap, and raises nothing.
        """
        return None

    def time_ms(self, offset: Offset) -> int | None:
        """When the newest change before `offset` was committed, in ms since 1970; None where the offset does not tell.

        It may round down. Asks nobody.
        """
        return None

    @abstractmethod
    def close(self) -> None:
        """Lets all connections go. May be called twice."""
