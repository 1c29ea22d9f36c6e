"""What a process and its children use."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from testkit.servers.process import tail


@dataclass(frozen=True, slots=True)
class Usage:
    """A finished process: seconds of CPU (user and system), seconds on the clock, peak resident memory in MiB."""

    cpu: float
    wall: float
    rss: float


class CommandFailedError(Exception):
    """A measured command ended with an error; the message is the end of its log."""


def run(command: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> Usage:
    """Runs a command to its end.

    Raises:
        CommandFailedError: it did not exit with 0.
    """
    start = time.perf_counter()
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CommandFailedError(f"{' '.join(command)} exited with {process.returncode}:\n{tail(log)}")
    return Usage(used.ru_utime + used.ru_stime, time.perf_counter() - start, used.ru_maxrss / 1024)


class Tree:
    """A running process and all that it started, measured while it runs.

    Args:
        child: the process.
        log: where it writes.
    """

    def __init__(self, child: subprocess.Popen[bytes], log: Path) -> None:
        self._child = child
        self._log = log
        self._root = psutil.Process(child.pid)
        self._ended = 0.0
        self._seen: dict[psutil.Process, float] = {}

    def cpu(self) -> float:
        """Seconds of CPU so far; a child that has ended counts with what it was last seen at."""
        alive = {}
        for process in self._processes():
            with suppress(psutil.Error):
                times = process.cpu_times()
                alive[process] = times.user + times.system
        self._ended += sum(used for process, used in self._seen.items() if process not in alive)
        self._seen = alive
        return self._ended + sum(alive.values())

    def rss(self) -> float:
        """Resident memory now, in MiB, of the process and its children."""
        total = 0
        for process in self._processes():
            with suppress(psutil.Error):
                total += process.memory_info().rss
        return total / 2**20

    @contextmanager
    def halted(self) -> Iterator[None]:
        """Stops all of them (SIGSTOP) until the block ends."""
        stopped: list[psutil.Process] = []
        while running := [process for process in self._processes() if process not in stopped]:
            for process in running:
                with suppress(psutil.NoSuchProcess):
                    process.suspend()
            stopped += running
        try:
            yield
        finally:
            for process in reversed(stopped):
                with suppress(psutil.NoSuchProcess):
                    process.resume()

    def wait_until(self, done: Callable[[], bool], seconds: float, every: float = 0.02) -> None:
        """Waits for something to become true.

        Raises:
            CommandFailedError: the process ended before.
            TimeoutError: it did not within `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not done():
            if self._child.poll() is not None:
                raise CommandFailedError(f"it ended with {self._child.returncode}:\n{tail(self._log)}")
            if time.monotonic() > deadline:
                raise TimeoutError(f"not done after {seconds} s:\n{tail(self._log)}")
            time.sleep(every)

    def _processes(self) -> list[psutil.Process]:
        return [self._root, *self._root.children(recursive=True)]
