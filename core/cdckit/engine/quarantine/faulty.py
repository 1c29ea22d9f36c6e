"""What becomes of records that cannot be delivered: they are left out, or kept in the quarantine."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.api.undecoded import Undecoded
from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.places import Quarantine
from cdckit.engine.quarantine.share import LAST, Share
from cdckit.engine.quarantine.store import Quarantined, Stage
from cdckit.engine.quarantine.waiting import SAID, message_waits, note_first, record_waits
from cdckit.errors import CdcError, DecodeError, SinkError, TransformError

log = logging.getLogger("cdckit.quarantine")

_KINDS: dict[Stage, type[CdcError]] = {"decode": DecodeError, "write": SinkError}
"""What stops a pipeline at a stage; a `TransformError` at the others."""


class FaultyRecords:
    """Takes the records of one run that cannot be delivered.

    Args:
        errors: what the options say.
        store: the quarantine; None where records are left out.
        counts: kept in step.
        entries: makes out of each what is kept.

    Attributes:
        waiting: the keys whose later changes wait, each with the position of what they wait for; empty unless the
            options ask for that.
    """

    def __init__(self, errors: ErrorHandling, store: Quarantine | None, counts: FaultCounts, entries: Entries) -> None:
        self._errors = errors
        self._store = store
        self._counts = counts
        self._entries = entries
        self._share = Share()
        self._before = self._share.copy(), counts.left_out.copy()
        self._failed = 0
        self._told: set[tuple[str, str]] = set()
        self._waits = store is not None and errors.waits
        self.waiting: dict[str, str] = store.keys() if store is not None and self._waits else {}
        counts.kept = None if store is None else store.count

    def record_failed(self, record: Record, stage: Stage, by: str, error: TransformError) -> None:
        """Takes a record as the source gave it.

        Raises:
            TransformError: the quarantine takes no more.
        """
        self._failed += 1
        for entry in self._entries.of_record(record, stage, by, str(error)):
            self._take(entry, TransformError)

    def message_failed(self, message: Messages, reason: str) -> None:
        """Takes one message that the sink's target will never take.

        Raises:
            SinkError: the quarantine takes no more.
        """
        self._failed += 1
        self._take(self._entries.of_message(message, "write", reason), SinkError)

    def undecoded(self, piece: Undecoded) -> None:
        """Takes what the source cannot decode.

        Raises:
            DecodeError: the quarantine takes no more.
        """
        self._failed += 1
        entry = self._entries.of_piece(piece)
        self._take(entry, DecodeError)
        self.seen(1, DecodeError, f"; the last one: {entry.reason}")

    def take(self, entries: Sequence[Quarantined], records: int) -> None:
        """Takes what another process could not deliver.

        Args:
            entries: all of that.
            records: how many records have come there since it was last told.

        Raises:
            CdcError: the quarantine takes no more, or too many of the last records failed.
        """
        kind: type[CdcError] = TransformError
        for entry in entries:
            self._failed += entry.stage != "wait"
            kind = _KINDS.get(entry.stage, TransformError)
            self._take(entry, kind)
        self.seen(records, kind)

    def due(self, records: list[Record]) -> list[Record]:
        """The records without those that wait for an earlier one of their keys, which are kept."""
        passed = []
        for record in records:
            if record_waits(self.waiting, record):
                for entry in self._entries.of_record(record, "wait", "", SAID):
                    self._take(entry, TransformError)
            else:
                passed.append(record)
        return passed

    def due_messages(self, messages: Messages) -> Messages:
        """The same of messages."""
        parts = [messages.part(at, at + 1) for at in range(len(messages))]
        passed = []
        for part in parts:
            if message_waits(self.waiting, part):
                self._take(self._entries.of_message(part, "wait", SAID), SinkError)
            else:
                passed.append(part)
        return Messages.joined(passed)

    def seen(self, records: int, kind: type[CdcError] = TransformError, told: str = "") -> None:
        """Notes how many records have come since it was last told.

        Raises:
            CdcError: too many of the last ones failed; it is of `kind`, and ends with what else is `told`.
        """
        self._share.add(records, self._failed)
        self._failed = 0
        if self._store is not None and self._share.exceeds(self._errors.max_share):
            raise kind(
                f"more than {self._errors.max_share:.0%} of the last {LAST:,} records went to the quarantine "
                "(quarantine.max.share): see why (cdc quarantine list FILE), mend it, and start again"
                f"{told}"
            )

    def batch_begins(self) -> None:
        """What comes now may be read again."""
        self._before = self._share.copy(), self._counts.left_out.copy()

    def read_again(self) -> None:
        """All comes once more that came since the batch began: it counts once."""
        share, left_out = self._before
        self._share = share.copy()
        self._counts.left_out.clear()
        self._counts.left_out.update(left_out)

    def sync(self) -> None:
        """Returns once what was kept is safe.

        Raises:
            StateError: it is not.
        """
        if self._store is not None:
            # One transaction for all since the last flush: an offset beyond these entries may be saved only now.
            self._store.sync()
        self._entries.begin()

    def _take(self, entry: Quarantined, kind: type[CdcError]) -> None:
        if self._store is None:
            self._counts.left_out[entry.stage] += 1
        elif not self._keep(entry, self._store, kind):
            return
        if entry.stage != "wait":
            self._tell(entry)

    def _keep(self, entry: Quarantined, store: Quarantine, kind: type[CdcError]) -> bool:
        """Keeps it, unless it is kept already."""
        if self._waits:
            note_first(self.waiting, entry.key, entry.position)
        # A batch that is delivered again after a crash brings the same records, by position: they are there once.
        if store.has(entry.id):
            return False
        if store.count >= self._errors.max_records:
            raise kind(
                f"the quarantine holds {store.count:,} records, and takes no more (quarantine.max.records): have them "
                f"delivered (cdc replay FILE) or drop them (cdc quarantine drop FILE); the next one: {entry.reason}"
            )
        store.add(entry)
        self._counts.quarantined[entry.stage] += 1
        self._counts.kept = store.count
        return True

    def _tell(self, entry: Quarantined) -> None:
        """Says it in the log: the first of each topic and stage, or each."""
        about = (entry.topic, entry.stage)
        if about in self._told and not self._errors.log_each:
            return
        self._told.add(about)
        done = "left out" if self._store is None else "kept in quarantine"
        shown = ""
        if self._errors.log_messages:
            with suppress(UnicodeDecodeError):
                shown = f"; the record: {entry.content.decode()}"
        others = "" if self._errors.log_each else "; more of this topic are counted, not logged"
        log.warning("a record is %s: %s%s%s", done, entry.reason, others, shown)
