"""Processes that a process has started, and those that these have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil

from testkit.servers.process import halt


def descendants(pid: int, word: str = "") -> list[psutil.Process]:
    """Those that run below a process and have a word in their command line."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                if any(word in part for part in process.cmdline()):
                    found.append(process)
    return found


@contextmanager
def halted(pid: int) -> Iterator[list[psutil.Process]]:
    """A process, and all that run below it, which stand still meanwhile; none where it has ended."""
    still: list[psutil.Process] = []
    try:
        while new := [process for process in _running(pid) if process not in still]:  # some may be started meanwhile
            still += new
            for process in new:
                with suppress(ProcessLookupError):
                    halt(process.pid)
        yield still
    finally:
        for process in still:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def _running(pid: int) -> list[psutil.Process]:
    """A process and its descendants; those that have ended have no command line."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        if process.status() != psutil.STATUS_ZOMBIE:
            return [process, *descendants(pid)]
    return []
