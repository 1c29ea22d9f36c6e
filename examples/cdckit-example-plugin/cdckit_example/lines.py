"""Append-only files of lines: how far whole lines reach, and the lines between two positions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

_BLOCK = 1 << 16


def end_of_lines(path: Path) -> int:
    """The position in bytes after the last whole line. A line without its newline is still being written."""
    with path.open("rb") as file:
        end = file.seek(0, 2)
        while end > 0:
            start = max(0, end - _BLOCK)
            file.seek(start)
            found = file.read(end - start).rfind(b"\n")
            if found >= 0:
                return start + found + 1
            end = start
    return 0


def read_lines(path: Path, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The whole lines between two positions, each with the position after it."""
    with path.open("rb") as file:
        file.seek(start)
        at = start
        while at < end:
            line = file.readline()
            at += len(line)
            yield at, line
