"""A call of the command that runs, however it was started."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Protocol, TextIO


class Process(Protocol):
    """What `subprocess.Popen` has of a process that runs."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def returncode(self) -> int | None:
        """How it has ended, as far as was looked: by an exit code, or by a signal's number below zero."""

    def poll(self) -> int | None:
        """Looks whether it has ended, and how."""

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, so many seconds at most.

        Raises:
            subprocess.TimeoutExpired: it runs on.
        """

    def send_signal(self, sig: int) -> None:
        """Sends it a signal, unless it has ended."""

    def kill(self) -> None:
        """Sends it SIGKILL."""


@dataclass(slots=True)
class Forked:
    """A fork.

    Attributes:
        pid: its id.
        said: what the process that it comes from tells of it, its end, and nothing behind that.
        connection: closes that.
        returncode: how it has ended, as far as was looked.
    """

    pid: int
    said: TextIO
    connection: ExitStack
    returncode: int | None = None

    def poll(self) -> int | None:
        """Looks whether it has ended, and how."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end, so many seconds at most.

        Raises:
            subprocess.TimeoutExpired: it runs on.
        """
        if self.returncode is None:
            waiting = select.poll()  # `select` takes no file above 1,023, which a process of many tests may reach
            waiting.register(self.said, select.POLLIN)
            if not waiting.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("cdc", timeout or 0)
            with self.connection:
                self.returncode = int(self.said.readline() or -signal.SIGKILL)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Sends it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        """Sends it SIGKILL."""
        self.send_signal(signal.SIGKILL)
