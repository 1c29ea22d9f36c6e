"""The judge: record by record, what is lost, reordered within its key, doubled beyond the unsaved, or wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from cdckit_faults.history.findings import Finding, Verdict
from cdckit_faults.history.gtids import GtidSet
from cdckit_faults.history.record import Record
from testkit.journal import TOMBSTONE, Change, Journal, Key

_TOLD = 20
"""So many findings are kept; the rest is counted."""


@dataclass(slots=True)
class _Row:
    """How far one key has come.

    Attributes:
        done: how many of its changes have been delivered, or need not be.
        next: the change that is due in this run; None where the run has said nothing of the key yet.
        excused: the first so many may be missing, since a snapshot was taken behind them.
        skipped: changes that were passed over in this run.
        seen: where each change is, of as many as were looked at.
    """

    done: int = 0
    next: int | None = None
    excused: int = 0
    skipped: set[int] = field(default_factory=set)
    seen: dict[Change, int] = field(default_factory=dict)
    looked_at: int = 0


class Judge:
    """Compares what arrives with a journal of what was committed.

    A run of a pipeline repeats at the most what was not saved when it began. Within a run each change of a key comes
    once, in order, unless the run was told to be one that may repeat.

    Attributes:
        repeated: how many records have come again, as they may.
        records: how many have come.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._rows: dict[Key, _Row] = defaultdict(_Row)
        self._looked_at = 0
        self._open: set[Key] = set()
        self._saved = GtidSet()
        self._may_repeat = False
        self._snapshot = True
        self._findings: list[Finding] = []
        self._more = 0
        self.repeated = 0
        self.records = 0

    def run_begins(self, saved: GtidSet) -> None:
        """A process of the pipeline begins, with what was saved by then; the one before is gone."""
        self._saved = saved
        self._may_repeat = False
        for row in self._rows.values():
            row.next = None

    def may_repeat(self, saved: GtidSet) -> None:
        """From now on the run may repeat what is not saved, as one does that begins anew by itself."""
        self._saved, self._may_repeat = saved, True

    def snapshot_begins(self) -> None:
        """A snapshot is due: what was committed so far need not arrive beside it."""
        self._snapshot = True
        for key in self.missing():
            self._rows[key].excused = len(self._journal.of(key))

    def snapshot_ends(self) -> None:
        """From now on no row of a snapshot is due."""
        self._snapshot = False

    def take(self, record: Record) -> None:
        """Judges one record."""
        self.records += 1
        row = self._rows[record.key]
        at = self._place(row, record)
        if at is None:
            self._find(Verdict.WRONG, record, "was never committed")
        elif record.change.op == "r":
            self._read(row, record, at)
        else:
            self._advance(row, record, at)

    def missing(self) -> set[Key]:
        """The keys of which a change has not arrived."""
        touched = self._journal.touched(self._looked_at)
        self._looked_at += len(touched)
        self._open = {key for key in self._open.union(touched) if not self._is_done(key)}
        return self._open

    def settle(self) -> list[Finding]:
        """What is wrong since the last time, with what is missing by now; it is not told again."""
        for key in sorted(self.missing()):
            row, changes = self._rows[key], self._journal.of(key)
            lost = sorted(row.skipped | set(range(row.done, len(changes))))
            self._add(Verdict.LOST, f"{_told(key)}: {', '.join(str(tuple(changes[n])) for n in lost[:3])}")
            row.done, row.next = len(changes), None
            row.skipped.clear()
        self._open.clear()
        found, self._findings = self._findings, []
        if self._more:
            found.append(Finding(found[-1].verdict, f"and {self._more} more"))
            self._more = 0
        return found

    def _place(self, row: _Row, record: Record) -> int | None:
        """Which change of its key a record tells of."""
        known = self._journal.of(record.key)
        for number in range(row.looked_at, len(known)):
            if known[number] != TOMBSTONE:
                row.seen[known[number]] = number
        row.looked_at = len(known)
        if record.change == TOMBSTONE:
            return _tombstone(row, known)
        if record.change.op == "r":
            token = record.change.token
            return next((row.seen[one] for op in "uc" if (one := Change(op, token)) in row.seen), None)
        return row.seen.get(record.change)

    def _read(self, row: _Row, record: Record, at: int) -> None:
        """A row of a snapshot stands for all changes up to the one that made it what it is."""
        if not self._snapshot:
            self._find(Verdict.WRONG, record, "is a row of a snapshot that was not due")
        elif at + 1 < row.done and row.next is not None:
            self._find(Verdict.REORDERED, record, "shows an older row than what came before")
        row.done, row.next = max(row.done, at + 1), at + 1
        row.skipped = {number for number in row.skipped if number > at}

    def _advance(self, row: _Row, record: Record, at: int) -> None:
        if at in row.skipped:
            row.skipped.discard(at)
            self._find(Verdict.REORDERED, record, "comes behind a later change")
            return
        due = row.done if row.next is None else row.next
        if at < due:
            self._again(row, record, at)
        elif at > due:
            self._gap(row, record, due, at)
        row.done, row.next = max(row.done, at + 1), at + 1

    def _again(self, row: _Row, record: Record, at: int) -> None:
        """A change comes that has come before."""
        if record.gtid is not None and record.gtid in self._saved:
            self._find(Verdict.DOUBLED, record, "comes again although it was saved")
        elif row.next is not None and not self._may_repeat:
            self._find(Verdict.DOUBLED, record, "comes again in the same run")
        self.repeated += 1

    def _gap(self, row: _Row, record: Record, due: int, at: int) -> None:
        """A change comes where another one is due."""
        if at < row.done or (row.next is not None and row.next < row.done):
            self._find(Verdict.REORDERED, record, "follows an older change than the one before it, among repeats")
        row.skipped |= set(range(max(due, row.done, row.excused), at))

    def _is_done(self, key: Key) -> bool:
        """Whether all of a key has arrived, or a snapshot says by its absence that it is gone."""
        row, changes = self._rows[key], self._journal.of(key)
        if row.skipped:
            return False
        return row.done >= len(changes) or (len(changes) <= row.excused and changes[-1] == TOMBSTONE)

    def _find(self, verdict: Verdict, record: Record, told: str) -> None:
        self._add(verdict, f"{_told(record.key)}: {tuple(record.change)} {told}")

    def _add(self, verdict: Verdict, told: str) -> None:
        if len(self._findings) < _TOLD:
            self._findings.append(Finding(verdict, told))
        else:
            self._more += 1


def _tombstone(row: _Row, changes: Sequence[Change]) -> int | None:
    """The next tombstone that is due, or the last one that was."""
    begin = row.done if row.next is None else row.next
    ahead = (number for number in range(begin, len(changes)) if changes[number] == TOMBSTONE)
    behind = (number for number in range(min(begin, len(changes)) - 1, -1, -1) if changes[number] == TOMBSTONE)
    return next(ahead, next(behind, None))


def _told(key: Key) -> str:
    return f"{key.table} {', '.join(map(str, key.values))}"
