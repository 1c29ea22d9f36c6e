"""One pipeline of a fleet: its process, and when it begins anew."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from cdckit.cli.fleet.bond import KEPT
from cdckit.cli.fleet.limits import Limits
from cdckit.cli.fleet.memory import resident
from cdckit.cli.fleet.output import SharedLog
from cdckit.cli.settings import INTERRUPTED

log = logging.getLogger("cdckit.fleet")

LONGEST_PAUSE = 60.0
"""How many seconds a pipeline that fails again and again is left alone, and how long it must run to count as well."""
GRACE = 30.0
"""How many seconds one that has too much memory is given to end in order."""


class Member:
    """Keeps one pipeline running.

    Args:
        name: what its lines begin with.
        file: the pipeline's.
        arguments: more of the command line.
        limits: what it may take.
        shared: takes its logs.

    Attributes:
        code: what it ended with last; None before that.
    """

    def __init__(self, name: str, file: Path, arguments: Sequence[str], limits: Limits, shared: SharedLog) -> None:
        self.name = name
        self.code: int | None = None
        self._command = [sys.executable, "-m", "cdckit", "run", str(file), *arguments]
        self._limits = limits
        self._shared = shared
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None
        self._began = 0.0
        self._due: float | None = 0.0
        self._pause = 1.0
        self._kill_at: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and does not begin anew."""
        return self._process is None and self._due is None

    def look(self) -> None:
        """Starts it when it is time, notes its end, and holds it to its limit."""
        if self._process is None:
            if self._due is not None and time.monotonic() >= self._due:
                self._start()
        elif (code := self._process.poll()) is not None:
            self._ended(code)
        elif self._kill_at is not None:
            if time.monotonic() >= self._kill_at:
                self._process.kill()
        elif self._limits.memory is not None:
            self._weigh(self._process, self._limits.memory)

    def stop(self, number: signal.Signals) -> None:
        """Asks it to end, and to stay so."""
        self._due = None
        self._limits = Limits("never")
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(number)

    def _start(self) -> None:
        self._due, self._began, self._kill_at = None, time.monotonic(), None
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            self._command,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, KEPT: "1"},
        )
        lines: IO[bytes] | Any = self._process.stderr
        self._reader = threading.Thread(target=self._shared.pass_on, args=(self.name, lines), daemon=True)
        self._reader.start()

    def _ended(self, code: int) -> None:
        if self._reader is not None:
            self._reader.join(1.0)  # what it has started may hold its standard error open
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None
        killed = self._kill_at is not None
        self.code = _exit_code(code)
        if not self._limits.begins_anew(self.code, killed=killed):
            log.log(logging.ERROR if self.code else logging.INFO, "%s has ended with %d", self.name, self.code)
            return
        if time.monotonic() - self._began >= LONGEST_PAUSE:
            self._pause = 1.0
        log.warning("%s has ended with %d; it begins anew in %.0f s", self.name, self.code, self._pause)
        self._due = time.monotonic() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def _weigh(self, process: subprocess.Popen[bytes], most: int) -> None:
        found = resident(process.pid)
        if found > most:
            log.error(
                "%s has %d MiB of memory, more than the %d MiB that --memory allows: it is ended",
                self.name, found >> 20, most >> 20,
            )  # fmt: skip
            self._kill_at = time.monotonic() + GRACE
            process.send_signal(signal.SIGTERM)


def _exit_code(code: int) -> int:
    """As a shell tells it: 128 and the number of the signal that killed it."""
    return 128 - code if code < 0 else code


def failure(code: int | None) -> int:
    """The code of a pipeline that was told to stop: the signal itself is none."""
    return 0 if code in (None, INTERRUPTED) else code
