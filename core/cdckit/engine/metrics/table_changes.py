"""Changes by table, as the source counts them: how many of each kind in this run, and when the last one was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

MOST_TABLES = 10_000
"""So many tables are told apart; those that come after are added up under `…`."""
OTHERS = "…"


class TableChanges:
    """Counts of one run.

    Args:
        kept: when each table was last changed, as an earlier run has written it.

    Attributes:
        counts: rows inserted (`c`), changed (`u`), deleted (`d`), and how often it was emptied (`t`), by table.
        changed: when each was last changed at the source, in seconds since 1970, of this run or one before.
    """

    def __init__(self, kept: Any = None) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.changed: dict[str, float] = {}
        for name, told in kept.items() if isinstance(kept, dict) else ():
            if isinstance(told, dict) and isinstance(told.get("changed"), int | float):
                self.changed[name] = told["changed"]

    def add(self, tables: Mapping[str, Mapping[str, int]], when: float) -> None:
        """So many more, the last of them about then."""
        for name, counts in tables.items():
            known = name in self.counts or len(self.counts) < MOST_TABLES
            shown = name if known else OTHERS
            self.counts.setdefault(shown, Counter()).update(counts)
            self.changed[shown] = when

    def to_json(self) -> dict[str, Any]:
        """What is written of them."""
        names = [*self.counts, *(name for name in list(self.changed)[:MOST_TABLES] if name not in self.counts)]
        return {name: {**self.counts.get(name, {}), "changed": self.changed.get(name)} for name in names}
