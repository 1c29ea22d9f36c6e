"""Which of a pipeline's processes takes how much CPU when, and reads and writes how many bytes."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Literal, NamedTuple

import psutil

from benchmarks.usage import repeated

Kind = Literal["driver", "JVM", "planner", "workers"]
KINDS: tuple[Kind, ...] = ("driver", "JVM", "planner", "workers")
_SECONDS = 0.1


class Used(NamedTuple):
    """What processes have taken.

    Attributes:
        cpu: seconds of CPU.
        read: bytes that they read (`rchar`, proc(5)): from files, and from pipes and sockets that are used like files.
        written: bytes that they wrote, counted in the same way.
    """

    cpu: float = 0.0
    read: float = 0.0
    written: float = 0.0


class ProcessTimes:
    """Looks at a process and all that it has started, from time to time.

    Args:
        pid: the process's number.
    """

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._kinds: dict[psutil.Process, Kind] = {}
        self._used: dict[psutil.Process, Used] = {}
        self._moments: list[float] = []
        self._sums: dict[Kind, list[Used]] = {kind: [] for kind in KINDS}

    def look(self) -> None:
        """Notes what each kind of process has taken so far; one that has ended counts with what it was last seen at."""
        with suppress(psutil.Error):
            for process in (self._root, *self._root.children(recursive=True)):
                with suppress(psutil.Error):
                    times, moved = process.cpu_times(), process.io_counters()
                    self._used[process] = Used(times.user + times.system, moved.read_chars, moved.write_chars)
                    # What it runs is not told before it does, nor once it ends.
                    if (words := process.cmdline()) or process not in self._kinds:
                        self._kinds[process] = self._kind(process, " ".join(words))
        totals = self._totals()
        self._moments.append(time.time())
        for kind, sums in self._sums.items():
            sums.append(totals[kind])

    def between(self, start: float, end: float) -> dict[Kind, Used]:
        """What was taken between two moments, in seconds since the epoch, by kinds."""
        return {
            kind: Used(*(late - early for early, late in zip(self._at(kind, start), self._at(kind, end), strict=True)))
            for kind in KINDS
        }

    @property
    def cpu(self) -> float:
        """Seconds of CPU of all of them up to the last look, from each one's beginning on."""
        return sum(used.cpu for used in self._used.values())

    def _totals(self) -> Mapping[Kind, Used]:
        totals: dict[Kind, Used] = defaultdict(Used)
        for process, kind in self._kinds.items():
            totals[kind] = Used(*map(sum, zip(totals[kind], self._used[process], strict=True)))
        return totals

    def _at(self, kind: Kind, moment: float) -> Used:
        """What a kind had taken at a moment, in a straight line between two looks."""
        place, sums = bisect_left(self._moments, moment), self._sums[kind]
        if place == 0 or place == len(self._moments):
            return sums[min(place, len(sums) - 1)]
        before, behind = self._moments[place - 1], self._moments[place]
        share = (moment - before) / (behind - before)
        return Used(*(low + (high - low) * share for low, high in zip(sums[place - 1], sums[place], strict=True)))

    def _kind(self, process: psutil.Process, words: str) -> Kind:
        if process == self._root:
            return "driver"
        if "pyspark.daemon" in words:
            return "workers"
        return "planner" if "pyspark.sql.streaming" in words else "JVM"


@contextmanager
def sampled(pid: int) -> Iterator[ProcessTimes]:
    """Looks at a process until the block ends."""
    times = ProcessTimes(pid)
    with repeated(times.look, _SECONDS):
        yield times
    times.look()
