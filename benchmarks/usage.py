"""What a process and its children use."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from testkit.servers.process import tail

_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Usage:
    """A finished process: seconds of CPU (user and system), seconds on the clock, peak resident memory in MiB."""

    cpu: float
    wall: float
    rss: float


class CommandFailedError(Exception):
    """A measured command ended with an error; the message is the end of its log."""


def run(
    command: Sequence[str],
    log: Path,
    env: Mapping[str, str] | None = None,
    look: Callable[[int], object] | None = None,
) -> Usage:
    """Runs a command to its end.

    Args:
        command: what is run.
        log: the file that takes what it says.
        env: variables besides those of this process.
        look: is called again and again while it runs, with the number of its process.

    Raises:
        CommandFailedError: it did not exit with 0.
    """
    start = time.perf_counter()
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
        with _looking(process.pid, look) as most:
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CommandFailedError(f"{' '.join(command)} exited with {process.returncode}:\n{tail(log)}")
    return Usage(used.ru_utime + used.ru_stime, time.perf_counter() - start, max(most, default=0.0))


@contextmanager
def _looking(pid: int, look: Callable[[int], object] | None) -> Iterator[list[float]]:
    """Notes a process's peak of resident memory, in MiB, until the block ends.

    What wait4(2) tells counts what the process had that this one was started from.
    """
    most = list[float]()

    def note() -> None:
        with suppress(OSError, KeyError):  # it has ended
            if look is not None:
                look(pid)
            most.append(status_of(pid)["VmHWM"])  # behind that: it grows while somebody looks

    with repeated(note, _SECONDS):
        yield most


@contextmanager
def repeated(look: Callable[[], None], seconds: float) -> Iterator[None]:
    """Calls `look` in a thread, again after so many seconds each, until the block ends."""
    ended = threading.Event()

    def go_on() -> None:
        while not ended.wait(seconds):
            look()

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def status_of(pid: int) -> dict[str, float]:
    """What a process has in memory, in MiB: `VmRSS`, `VmHWM` (its peak), `RssAnon` and others; proc(5)."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    found = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(kib) / 1024 for name, kib, _ in found}


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
