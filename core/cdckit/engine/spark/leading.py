"""The first split of a batch, written by the task that reads it, while others read the rest.

Where splits are ranges of the log that follow each other, whatever is in the first comes before all else of the batch.
So its messages wait for nothing, and nobody has to put them in order with others: no shuffle moves them. Those of the
other splits are written once all have been read.

One attempt at a batch may do so. When another begins, messages of later splits may be there already: it hands on what
it reads as the others do, and each key's messages come again in order.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdckit.engine.spark.relay import driver_of

if TYPE_CHECKING:
    from cdckit.api.source import Split
    from cdckit.engine.spark.job import Job

ASKED = "leads"
"""What the driver is asked for it."""
_REMEMBERED = 1000
"""So many batches are known that had it: older ones are not carried out any more."""


class Leaders:
    """The driver's side: lets one attempt write the first split of each batch. Threads may use it at the same time."""

    def __init__(self) -> None:
        self._had: deque[str] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()

    def may_write(self, plan: str) -> bool:
        """Whether whoever asks is the first to do so for a plan."""
        with self._lock:
            if plan in self._had:
                return False
            self._had.append(plan)
            return True


def leads(splits: Sequence[Split]) -> bool:
    """Whether all that is in the first of several splits comes before what is in the others."""
    if len(splits) < 2:
        return False
    first, second = splits[:2]
    return first.end is not None and first.start != first.end == second.start


def may_write(job: Job, plan: str) -> bool:
    """The task's side: whether it may write the first split of a plan; not where the driver is another machine."""
    driver = driver_of(job)
    return driver is not None and bool(driver.ask(ASKED, plan))
