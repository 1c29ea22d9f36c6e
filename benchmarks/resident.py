"""What a process has in memory, and what holds it, by what Linux tells of its mappings."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.usage import Usage, run, status_of

OWN = "own"
"""Memory that the process has written: Python's and the libraries' heaps, stacks, what the loader has relocated."""
OTHERS = "other code"
_LIBRARIES = re.compile(r"/(deltalake|pyarrow|numpy)(?:\.libs)?/")
_MAPPING = re.compile(r"[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)")
_STEP = 1.0
"""Mappings are looked at once there are so many MiB more in memory than ever before."""


@dataclass(frozen=True, slots=True)
class Resident:
    """What was in memory at one moment, in MiB.

    Attributes:
        parts: by what holds it: `OWN`, the code of a library (pages of its files, which the kernel takes back
            when memory is short and reads anew), `OTHERS`.
    """

    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """All of it: the resident set size."""
        return sum(self.parts.values())


def resident(smaps: Iterable[str]) -> Resident:
    """What a process has in memory by the lines of its `/proc/PID/smaps`: proc(5)."""
    parts: dict[str, float] = defaultdict(float)
    path = ""
    for line in smaps:
        if (found := _MAPPING.match(line)) is not None:
            path = found[1]
            continue
        name, _, text = line.partition(":")
        if name == "Rss" and path.startswith("/"):
            parts[_holder(path)] += _mib(text)
        elif name == "Rss":
            parts[OWN] += _mib(text)
        elif name == "Anonymous" and path.startswith("/"):
            parts[_holder(path)] -= _mib(text)
            parts[OWN] += _mib(text)
    return Resident(dict(parts))


def _holder(path: str) -> str:
    found = _LIBRARIES.search(path)
    return OTHERS if found is None else f"code of {found[1]}"


def _mib(text: str) -> float:
    return int(text.split(maxsplit=1)[0]) / 1024


class Watch:
    """Runs commands, and notes what each had in memory when it had most.

    Attributes:
        largest: of the last command, what it had when it had most.
        own: the same when it had most of its own.
    """

    def __init__(self) -> None:
        self.largest = self.own = Resident({})

    def __call__(self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Usage:
        """Runs a command to its end.

        Raises:
            CommandFailedError: it did not exit with 0.
        """
        self.largest = self.own = Resident({})
        used = run(command, log, env, self._look)
        # It may have ended between a look and the kernel's count.
        return replace(used, rss=max(used.rss, self.largest.total))

    def _look(self, pid: int) -> None:
        """Looks at all mappings where there is more in memory than ever before."""
        status = status_of(pid)
        more = status["VmRSS"] >= self.largest.total + _STEP
        own = status["RssAnon"] >= self.own.parts.get(OWN, 0) + _STEP
        if more or own:
            found = resident(Path(f"/proc/{pid}/smaps").read_text().splitlines())
            self.largest = max(self.largest, found, key=lambda one: one.total)
            self.own = max(self.own, found, key=lambda one: one.parts.get(OWN, 0))
