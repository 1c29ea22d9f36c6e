"""How much memory a process and those that it started have resident, as Linux tells it in `/proc`."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def can_be_told() -> bool:
    """Whether this system tells."""
    return (PROC / "self" / "statm").is_file()


def resident(pid: int) -> int:
    """In bytes; 0 for a process that is gone. What processes share is counted for each of them."""
    total = 0
    with suppress(OSError, ValueError, IndexError):
        total = int((PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return total + sum(map(resident, _children(pid)))


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in (PROC / str(pid) / "task").iterdir():
            with suppress(OSError, ValueError):
                found += map(int, (task / "children").read_text().split())
    return found
