"""What a source counts while it reads, beside its records: by event of the log or by batch, never by record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class SourceCounts:
    """Counts since they were last taken.

    Attributes:
        wanted: whether anyone asks for what is frequent (operations, filtered, transactions); a source that counts by
            events of the log leaves those alone where not. What is skipped is always counted.
        operations: how many rows or documents were inserted (`c`), changed (`u`) or deleted (`d`), and how many tables
            were emptied (`t`), as far as they are captured.
        filtered: how many events of the log were passed over, as the filters say.
        transactions: how many committed transactions were read.
        rolled_back: how many that ended with a ROLLBACK.
        elections: how many times the source's servers chose another primary.
        skipped: how many events of each table could not be decoded and were left out, as the user asks.
        transaction: the id of the last transaction, or None.
        event: the position of the last event with records, or None.
        tables: rows by table (`database.table`) and operation, whether anyone asks or not; a source adds them once a
            batch.
    """

    wanted: bool = False
    operations: Counter[str] = field(default_factory=Counter)
    filtered: int = 0
    transactions: int = 0
    rolled_back: int = 0
    elections: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    transaction: str | None = None
    event: str | None = None
    tables: dict[str, Counter[str]] = field(default_factory=dict)

    def take(self) -> SourceCounts:
        """The counts so far; they begin anew."""
        taken = SourceCounts(
            self.wanted,
            Counter(self.operations),
            self.filtered,
            self.transactions,
            self.rolled_back,
            self.elections,
            Counter(self.skipped),
            self.transaction,
            self.event,
            self.tables,
        )
        self.operations.clear()
        self.tables = {}
        self.skipped.clear()
        self.filtered = self.transactions = self.rolled_back = self.elections = 0
        self.transaction = self.event = None
        return taken

    def add(self, other: SourceCounts) -> None:
        """Adds what another reader has counted later."""
        self.operations.update(other.operations)
        for name, changes in other.tables.items():
            self.add_changes(name, changes)
        self.filtered += other.filtered
        self.transactions += other.transactions
        self.rolled_back += other.rolled_back
        self.elections += other.elections
        self.skipped.update(other.skipped)
        self.transaction = other.transaction or self.transaction
        self.event = max(filter(None, (self.event, other.event)), default=None)

    def add_changes(self, name: str, changes: Mapping[str, int]) -> None:
        """Adds how many rows of a table were changed, by operation."""
        self.tables.setdefault(name, Counter()).update(changes)

    def __bool__(self) -> bool:
        """Whether there is anything to take."""
        numbers = self.filtered, self.transactions, self.rolled_back, self.elections
        return bool(self.operations or self.tables or self.skipped or any(numbers))
