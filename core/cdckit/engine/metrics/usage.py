"""What a pipeline's processes take of the machine, as far as Linux tells: its own, and those that it has started."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_PROC = Path("/proc")
_MOST = 500
"""So many processes are looked at."""


class Usage(NamedTuple):
    """Seconds of processor time since the start, and bytes of memory now; None where nothing tells."""

    cpu_seconds: float
    memory_bytes: int | None


def usage() -> Usage:
    """That of this process and of those below it, such as Spark's JVM and its workers."""
    found = [told for pid in _tree(os.getpid()) if (told := _of(pid)) is not None]
    if not found:
        return Usage(time.process_time(), None)
    return Usage(sum(one.cpu_seconds for one in found), sum(one.memory_bytes or 0 for one in found))


def _tree(pid: int) -> Iterator[int]:
    waiting, seen = [pid], 0
    while waiting and seen < _MOST:
        one = waiting.pop()
        seen += 1
        yield one
        for children in _PROC.glob(f"{one}/task/*/children"):
            waiting += [int(child) for child in _read(children).split()]


def _of(pid: int) -> Usage | None:
    fields = _read(_PROC / str(pid) / "stat").rpartition(")")[2].split()
    if len(fields) < 22:
        return None
    ticks = sum(int(field) for field in fields[11:15])  # its own, and of children that have ended
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), int(fields[21]) * os.sysconf("SC_PAGE_SIZE"))


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
