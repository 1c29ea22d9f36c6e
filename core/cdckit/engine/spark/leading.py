"""The first split of a batch, written by the task that reads it, while others read the rest.

Where splits are ranges of the log that follow each other, whatever is in the first comes before all else of the batch.
So its messages wait for nothing, and nobody has to put them in order with others: no shuffle moves them. Those of the
other splits are written once all have been read.

One attempt at a batch may do so. When another begins, messages of later splits may be there already: it hands on what
it reads as the others do, and each key's messages come again in order.

Whoever writes what it reads takes longer for each message than those that hand it on. So the first split is the
smaller one, by what tasks took before: all are read at about the same time.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cdckit.engine.spark.relay import driver_of

if TYPE_CHECKING:
    import pyarrow as pa

    from cdckit.api.source import Split
    from cdckit.engine.spark.job import Job

ASKED = "leads"
"""What the driver is asked for it."""
FIRST_SPLIT = "first split"
"""What it is asked for how large the first split should be."""
READ = "read split"
"""As what it is told how long a split took."""

UNMEASURED = 0.8
"""So large is the first split beside each other one until both were measured: with JSON to Kafka on two processors
that was found to be 0.75 to 0.9."""
_LEAST = 0.4
"""It is never smaller: what it has less, the others have to hand on."""
_LEAST_SECONDS = 0.2
"""What took less tells little."""
_NEWEST = 0.75
"""How much the newest time counts beside those before, of which the first ones are longer: much is done for once."""
_REMEMBERED = 1000
"""So many batches are known that had it: older ones are not carried out any more."""


class Place(NamedTuple):
    """Where a split is in a batch whose first one may be written ahead of the others.

    Attributes:
        batch: names the attempt at planning it.
        first: whether it is the first.
    """

    batch: str
    first: bool


class Leaders:
    """The driver's side: lets one attempt write the first split of each batch, and says how large that should be.

    Threads may use it at the same time.
    """

    def __init__(self) -> None:
        self._had: deque[str] = deque(maxlen=_REMEMBERED)
        self._seconds: dict[bool, float] = {}
        self._lock = threading.Lock()

    def may_write(self, plan: str) -> bool:
        """Whether whoever asks is the first to do so for a plan."""
        with self._lock:
            if plan in self._had:
                return False
            self._had.append(plan)
            return True

    def took(self, first: bool, rows: int, seconds: float) -> None:
        """A split was read, and the first one written as well."""
        if not rows or seconds < _LEAST_SECONDS:
            return
        each = seconds / rows
        with self._lock:
            # One task alone may have waited for others' work on the machine.
            self._seconds[first] = _NEWEST * each + (1 - _NEWEST) * self._seconds.get(first, each)

    def first_split(self) -> float:
        """How large the first split should be beside each other one, so that all take as long."""
        with self._lock:
            if len(self._seconds) < len((True, False)):
                return UNMEASURED
            return min(1.0, max(_LEAST, self._seconds[False] / self._seconds[True]))


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


def first_split(job: Job) -> float:
    """The planner's side: how large the first split should be beside each other one."""
    driver = driver_of(job)
    return 1.0 if driver is None or job.task_sink is None else float(driver.ask(FIRST_SPLIT))


class Measured:
    """What one task took for its split, from the moment when this is made."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._rows = 0

    def counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The packets of the split, as they are."""
        for batch in batches:
            self._rows += sum(batch.column("rows").to_pylist())
            yield batch

    def tell(self, job: Job, first: bool) -> None:
        """Tells the driver, where it can be reached."""
        driver = driver_of(job)
        if driver is not None:
            driver.ask(READ, first, self._rows, time.monotonic() - self._begun)
