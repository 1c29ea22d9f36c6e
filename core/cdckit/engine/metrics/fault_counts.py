"""How many records could not be delivered, by stage: `decode`, `transform`, `serialize`, `write` or `wait`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class FaultCounts:
    """Counts of one run.

    Attributes:
        quarantined: how many went to the quarantine.
        left_out: how many were left out.
        kept: how many the quarantine holds now; None where there is none.
    """

    quarantined: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    kept: int | None = None
