"""Moments of a pipeline's work that are seen from outside, by the files that it makes: inotify(7)."""

from __future__ import annotations

import ctypes
import os
import select
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

from testkit.running import Running

_MODIFY, _MOVED_TO, _CREATE = 0x2, 0x80, 0x100
_IS_FOLDER = 0x40000000
_HEAD = struct.Struct("iIII")
_SECONDS = 0.02

MOMENTS = DATA, WRITTEN, COMMITTING, COMMITTED, SAVED = "data", "written", "committing", "committed", "saved"
"""A data file is begun, or there as a whole; a version of a table is begun, or there; the state has changed."""


class Watched:
    """The files of a pipeline, watched until the context ends.

    Args:
        lake: the folder of its tables.
        state: the folder of its state.
    """

    def __init__(self, lake: Path, state: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._lake, self._state = lake, state
        self._folders: dict[int, Path] = {}

    def __enter__(self) -> Self:
        self._number = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in (self._lake, self._state):
            folder.mkdir(exist_ok=True)
        for folder in (self._state, self._lake, *(path for path in self._lake.rglob("*") if path.is_dir())):
            self._watch(folder)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._number)

    def _watch(self, folder: Path) -> None:
        found = self._libc.inotify_add_watch(self._number, os.fsencode(folder), _MODIFY | _MOVED_TO | _CREATE)
        if found < 0:
            raise OSError(ctypes.get_errno(), f"{folder} cannot be watched")
        self._folders[found] = folder

    def wait(self, process: Running, moment: str, seconds: float) -> None:
        """Returns at the next such moment of a running pipeline, or when so much time is over."""
        self._take()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            assert process.process.poll() is None, f"ended with {process.process.returncode}:\n{process.log}"
            if select.select([self._number], [], [], _SECONDS)[0] and moment in self._take():
                return

    def _take(self) -> Sequence[str]:
        """The moments that have been since the last look."""
        try:
            return [moment for event in self._events() for moment in self._moments(*event)]
        except BlockingIOError:
            return ()

    def _events(self) -> Iterator[tuple[int, int, str]]:
        found, at = os.read(self._number, 1 << 16), 0
        while at < len(found):
            folder, what, _, length = _HEAD.unpack_from(found, at)
            at += _HEAD.size
            yield folder, what, os.fsdecode(found[at : at + length].rstrip(b"\0"))
            at += length

    def _moments(self, number: int, what: int, name: str) -> Iterator[str]:
        folder = self._folders[number]
        if folder == self._state:
            if name.startswith("state.db"):
                yield SAVED
        elif what & _IS_FOLDER:
            self._watch(folder / name)
        elif what & (_CREATE | _MOVED_TO):
            yield from _written(folder, name, whole=not what & _CREATE)


def _written(folder: Path, name: str, *, whole: bool) -> Iterator[str]:
    """What a file is that is new, or has its own name now."""
    if folder.name == "_delta_log" and ".json" in name:
        yield COMMITTED if name.endswith(".json") else COMMITTING
    elif folder.name == "metadata":
        yield COMMITTING  # of Iceberg, whose versions its catalog has
    elif ".parquet" in name:
        yield WRITTEN if whole else DATA
