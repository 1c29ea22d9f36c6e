"""Records that tasks cannot deliver, on their way to the driver, which keeps or counts them as the options say.

A task hands them over before it ends, so that they are safe before its batch is committed; those of a batch that is
repeated are known again by their positions. Tasks end in any order, and so records get their numbers; a replay goes by
their positions.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection
from typing import Any

from cdckit import errors
from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.undecoded import Undecoded
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.quarantine.places import open_quarantine
from cdckit.engine.quarantine.store import Quarantined, Stage
from cdckit.engine.quarantine.waiting import SAID, message_waits, note_first, record_waits
from cdckit.engine.spark.failures import nearest_kind
from cdckit.engine.spark.inbox import Address, TaskInbox, client
from cdckit.engine.spark.refusals import BatchBegins, ReadAgain, Refusals
from cdckit.errors import CdcError, StateError, TransformError, number_of

_GATHERED_BYTES = 1 << 20
"""A task hands over what it has once it has so much."""


class FaultInbox(TaskInbox):
    """The driver's end.

    Args:
        pipeline: its state is held.
        counts: kept in step.
        host: the driver's address for tasks on other machines; None where they run on this one.

    Raises:
        StateError: the quarantine cannot be opened.
    """

    def __init__(self, pipeline: ResolvedPipeline, counts: FaultCounts, host: str | None) -> None:
        keeps = pipeline.errors.tolerance == "quarantine"
        self._store = open_quarantine(pipeline.errors) if keeps else None
        self._faulty = FaultyRecords(pipeline.errors, self._store, counts, Entries.of(pipeline))
        self._refusals = Refusals()
        self._one_task = threading.Lock()
        super().__init__(host, "cdckit-faults")

    def hear(self, connection: Connection) -> None:
        """Answers a task."""
        asked = connection.recv()
        # Counts, shares and the store are for one thread; tasks wait in line, for less than a disk's sync each.
        with self._one_task:
            answer = self._answer(asked)
        connection.send(answer)

    def _answer(self, asked: Any) -> Any:
        if asked is None:
            return dict(self._faulty.waiting), self._refusals.reasons
        if isinstance(asked, BatchBegins):
            self._refusals.begin()
            return self._faulty.batch_begins()
        if isinstance(asked, ReadAgain):
            self._faulty.read_again()
            return self._refusals.add(asked.refused)
        return self._taken(*asked)

    def _taken(self, entries: Sequence[Quarantined], records: int) -> tuple[str, str, str] | None:
        """Returns once they are safe: None, or the kind of the error that ends the task, what it says, its number."""
        try:
            try:
                self._faulty.take(entries, records)
            finally:
                # Also where no more is taken: what came before the limit is kept, and the next start need not meet it
                # again.
                self._faulty.sync()
        except CdcError as error:
            return nearest_kind(type(error)), str(error), number_of(error)
        return None

    def close(self) -> None:
        """Stops listening. May be called twice."""
        if not self._closed:
            super().close()
            if self._store is not None:
                with self._one_task:
                    self._store.close()


class TaskFaults:
    """A task's end: gathers what cannot be delivered until it is handed over.

    Args:
        address: the driver's.
        entries: makes out of each what is kept.
        waits: whether later changes wait for those of their keys that are in quarantine.
        tables: whether rows are made for tables, which may refuse some.

    Attributes:
        waiting: the keys whose later changes wait, each with the position of what they wait for.
    """

    def __init__(self, address: Address, entries: Entries, *, waits: bool = False, tables: bool = False) -> None:
        self.waiting: dict[str, str] = {}
        self._refused: Mapping[str, str] = {}
        self._waits = waits
        self._asks = waits or tables
        self._address = address
        self._entries = entries
        self._gathered: list[Quarantined] = []
        self._bytes = 0
        self._records = 0

    def begin(self) -> None:
        """Another task begins; what the last one left behind is forgotten.

        Raises:
            StateError: the driver, which knows what waits, has gone away.
        """
        self._entries.begin()
        self._forget()
        if self._asks:
            self.waiting, self._refused = self._asked(None)

    def batch_begins(self) -> None:
        """The driver's own: another batch is written; raises as `begin`."""
        self._asked(BatchBegins())

    def refused(self, reasons: Mapping[str, str]) -> bool:
        """The driver's own: rows of these places were refused, the batch is read again; false where all were known."""
        return bool(self._asked(ReadAgain(reasons)))

    def taken_by_tables(self, records: Sequence[Record], sink: str) -> Sequence[Record]:
        """The records without those that a table has refused; raises as `hand_over`.

        Args:
            records: as the source gave them.
            sink: what the sink is called.
        """
        if not self._refused:
            return records
        passed = []
        for record in records:
            reason = self._refused.get(record.position)
            if reason is None or record_waits(self.waiting, record):
                passed.append(record)
            else:
                self.record_failed(record, "write", sink, TransformError(reason))
        self.seen(len(records) - len(passed))
        return passed

    def record_failed(self, record: Record, stage: Stage, by: str, error: TransformError) -> None:
        """Takes a record as the source gave it; raises as `hand_over`."""
        for entry in self._entries.of_record(record, stage, by, str(error)):
            self._add(entry)

    def message_failed(self, message: Messages, reason: str) -> None:
        """Takes one message that the sink's target will never take; raises as `hand_over`."""
        self._add(self._entries.of_message(message, "write", reason))

    def undecoded(self, piece: Undecoded) -> None:
        """Takes what the source cannot decode; raises as `hand_over`."""
        self._records += 1
        self._add(self._entries.of_piece(piece))

    def due(self, records: list[Record]) -> list[Record]:
        """The records that do not wait; raises as `hand_over`."""
        passed = []
        for record in records:
            if record_waits(self.waiting, record):
                for entry in self._entries.of_record(record, "wait", "", SAID):
                    self._add(entry)
            else:
                passed.append(record)
        return passed

    def due_messages(self, messages: Messages) -> Messages:
        """The same of messages."""
        passed = []
        for part in (messages.part(at, at + 1) for at in range(len(messages))):
            if message_waits(self.waiting, part):
                self._add(self._entries.of_message(part, "wait", SAID))
            else:
                passed.append(part)
        return Messages.joined(passed)

    def seen(self, records: int) -> None:
        """Notes how many records have come since it was last told."""
        self._records += records

    def _add(self, entry: Quarantined) -> None:
        if self._waits:
            note_first(self.waiting, entry.key, entry.position)
        self._gathered.append(entry)
        self._bytes += len(entry.content)
        if self._bytes > _GATHERED_BYTES:
            self.hand_over()

    def hand_over(self) -> None:
        """Returns once the driver has all of it.

        Raises:
            CdcError: it takes no more.
            StateError: it has gone away.
        """
        if not self._gathered and not self._records:
            return
        refused = self._asked((self._gathered, self._records))
        self._forget()
        if refused is not None:
            kind, text, number = refused
            raise getattr(errors, kind)(text, number=number)

    def _asked(self, asked: tuple[list[Quarantined], int] | BatchBegins | ReadAgain | None) -> Any:
        try:
            with client(self._address) as connection:
                connection.send(asked)
                return connection.recv()
        except (OSError, EOFError, AuthenticationError) as error:
            raise StateError("the driver, which keeps what cannot be delivered, has gone away") from error

    def sync(self) -> None:
        """As `hand_over`; what comes next may have come before."""
        self.hand_over()
        self._entries.begin()

    def _forget(self) -> None:
        self._gathered = []
        self._bytes = self._records = 0
