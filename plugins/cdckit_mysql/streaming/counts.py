"""What a log processor counts: numbers in plain dicts, poured into `SourceCounts` once a batch.

Not counted there at once: a `Counter` sets an item by way of Python, since it overrides deletion. That costs some 30 ns
more for each event with rows, of the 15 µs that a transaction of one row takes.
"""

from __future__ import annotations

from collections import defaultdict

from cdckit import SourceCounts

Tally = dict[str, int]
"""Events that were passed over, and how transactions ended; only where metrics are on."""

_OPERATIONS = {"write": "c", "update": "u", "delete": "d", "truncate": "t"}


class TableTally(defaultdict[str, dict[str, int]]):
    """Rows by table and kind of change, and emptied tables."""

    def __init__(self) -> None:
        super().__init__(lambda: dict.fromkeys(_OPERATIONS, 0))

    def pour(self, counts: SourceCounts) -> None:
        """Adds these to the counts, and begins anew."""
        for name, changes in self.items():
            told = {_OPERATIONS[kind]: number for kind, number in changes.items() if number}
            counts.add_changes(name, told)
            if counts.wanted:
                counts.operations.update(told)
        self.clear()


def new_tally() -> Tally:
    """Nothing of anything."""
    return dict.fromkeys(("filtered", "commit", "rollback"), 0)


def pour(tally: Tally, counts: SourceCounts) -> None:
    """Adds a tally to the counts, and begins it anew."""
    counts.filtered += tally["filtered"]
    counts.transactions += tally["commit"]
    counts.rolled_back += tally["rollback"]
    tally.update(dict.fromkeys(tally, 0))
