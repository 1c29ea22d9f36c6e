"""Which of a pipeline's processes takes how much CPU when."""

from __future__ import annotations

import subprocess
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal

import psutil

from benchmarks.usage import repeated

Kind = Literal["driver", "JVM", "planner", "workers"]
KINDS: tuple[Kind, ...] = ("driver", "JVM", "planner", "workers")
_SECONDS = 0.1


class ProcessTimes:
    """Looks at a process and all that it has started, from time to time.

    Args:
        child: the process.
    """

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._root = psutil.Process(child.pid)
        self._kinds: dict[psutil.Process, Kind] = {}
        self._used: dict[psutil.Process, float] = {}
        self._moments: list[float] = []
        self._sums: dict[Kind, list[float]] = {kind: [] for kind in KINDS}

    def look(self) -> None:
        """Notes what each kind of process has taken so far; one that has ended counts with what it was last seen at."""
        with suppress(psutil.Error):
            for process in (self._root, *self._root.children(recursive=True)):
                with suppress(psutil.Error):
                    times = process.cpu_times()
                    self._used[process] = times.user + times.system
                    self._kinds[process] = self._kind(process)  # what it runs is not told before it does
        totals: Mapping[Kind, float] = self._totals()
        self._moments.append(time.time())
        for kind, sums in self._sums.items():
            sums.append(totals[kind])

    def between(self, start: float, end: float) -> dict[Kind, float]:
        """Seconds of CPU between two moments, in seconds since the epoch, by kinds."""
        return {kind: self._at(kind, end) - self._at(kind, start) for kind in KINDS}

    def _totals(self) -> Mapping[Kind, float]:
        totals: dict[Kind, float] = defaultdict(float)
        for process, kind in self._kinds.items():
            totals[kind] += self._used[process]
        return totals

    def _at(self, kind: Kind, moment: float) -> float:
        """What a kind had taken at a moment, in a straight line between two looks."""
        place = bisect_left(self._moments, moment)
        if place == 0 or place == len(self._moments):
            return self._sums[kind][min(place, len(self._moments) - 1)]
        before, behind = self._moments[place - 1], self._moments[place]
        low, high = self._sums[kind][place - 1], self._sums[kind][place]
        return low + (high - low) * (moment - before) / (behind - before)

    def _kind(self, process: psutil.Process) -> Kind:
        if process == self._root:
            return "driver"
        words = " ".join(process.cmdline())
        if "pyspark.daemon" in words:
            return "workers"
        return "planner" if "pyspark.sql.streaming" in words else "JVM"


@contextmanager
def sampled(child: subprocess.Popen[bytes]) -> Iterator[ProcessTimes]:
    """Looks at a process until the block ends."""
    times = ProcessTimes(child)
    with repeated(times.look, _SECONDS):
        yield times
