"""Processes that a process has started, and those that these have."""

from __future__ import annotations

from contextlib import suppress

import psutil


def descendants(pid: int, word: str) -> list[psutil.Process]:
    """Those that run below a process and have a word in their command line."""
    found = []
    with suppress(psutil.NoSuchProcess):
        for process in psutil.Process(pid).children(recursive=True):
            with suppress(psutil.Error):
                if any(word in part for part in process.cmdline()):
                    found.append(process)
    return found
