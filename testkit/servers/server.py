"""The life of a server process: start, stop, kill, restart, and its end with the test."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from testkit.servers import process
from testkit.servers.errors import ServerStartError
from testkit.servers.ports import free_port, is_free
from testkit.servers.workspace import new_folder

Option = str | int | bool | None
"""A server's setting; None leaves a default out."""

_IDLE_SECONDS = 60
"""So long a server that does not answer may stand still; one that is at work starts slowly on a busy machine."""
_STOP_SECONDS = 30
_PORT_TRIES = 5


class Server(ABC):
    """A server of this process, with its data in a temporary folder, on a free port of loopback.

    Options are the server's own, written with underscores. They hold until a start or restart names others.
    """

    host: ClassVar[str] = "127.0.0.1"

    def __init__(self) -> None:
        self.port = 0
        self._choose_ports()
        self._folder = new_folder(type(self).__name__.lower())
        self._options: dict[str, Option] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def install(self) -> None:
        """Fetch whatever a start needs, which else the first start does.

        Raises:
            ServerUnavailableError: no installation was found and none could be made.
        """

    @abstractmethod
    def _lay_out(self, data: Path) -> None:
        """Make the data folder of a new server."""

    @abstractmethod
    def _spawn(self) -> subprocess.Popen[bytes]:
        """Start the process."""

    @abstractmethod
    def _answers(self) -> bool:
        """Return whether the server serves requests."""

    @property
    def datadir(self) -> Path:
        """Folder of the server's data."""
        return self._folder / "data"

    @property
    def errlog(self) -> Path:
        """The server's log, kept across restarts."""
        return self._folder / "error.log"

    @property
    def pid(self) -> int | None:
        """Process id while the server runs."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self, **options: Option) -> Self:
        """Start the server and wait until it answers; a second start finds the data of the first.

        Raises:
            ServerUnavailableError: no installation was found and none could be made.
            ServerStartError: it did not come up.
        """
        if self.pid is not None:
            raise RuntimeError(f"{type(self).__name__} is running: use restart() to change its options")
        self._options = options or self._options
        if self.datadir.exists():
            self._launch()
        else:
            self._lay_out(self.datadir)
            self._launch_on_free_port()
        return self

    def revive(self) -> None:
        """Start the server again where it has died, and warn: what comes next is not to fail for it."""
        if self._process is not None and self.pid is None:
            warnings.warn(f"{type(self).__name__} had died: {process.tail(self.errlog)}", stacklevel=2)
            self._launch()

    def stop(self) -> None:
        """Shut the server down in order; its data stay."""
        if self._process is not None:
            process.end(self._process, grace=_STOP_SECONDS)

    def kill(self) -> None:
        """Kill the server at once, as a power cut would (SIGKILL)."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send the running server a signal: SIGSTOP makes it hang, all of it by when this returns, SIGCONT go on."""
        if (pid := self.pid) is None:
            return
        if number is signal.SIGSTOP:
            process.halt(pid)
        else:
            os.kill(pid, number)

    def restart(self, **options: Option) -> Self:
        """Shut the server down and start it on the same port and data."""
        self.stop()
        return self.start(**options)

    def close(self) -> None:
        """End the server and remove its data."""
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self if self.pid is not None else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _launch(self) -> None:
        self._process = child = self._spawn()
        worked, since = 0, time.monotonic()
        while not self._answers():
            if child.poll() is not None:
                raise ServerStartError(f"{type(self).__name__} ended with {child.returncode}:\n{self._logs()}")
            if (ticks := process.worked(child.pid)) > worked:
                worked, since = ticks, time.monotonic()
            elif time.monotonic() > since + _IDLE_SECONDS:
                self.kill()
                raise ServerStartError(f"{type(self).__name__} idle for {_IDLE_SECONDS} s:\n{self._logs()}")
            time.sleep(0.02)

    def _choose_ports(self) -> None:
        self.port = free_port()

    def _ports(self) -> tuple[int, ...]:
        return (self.port,)

    def _launch_on_free_port(self) -> None:
        """Launch, on another port if somebody took ours since it was found free."""
        for _ in range(_PORT_TRIES):
            try:
                return self._launch()
            except ServerStartError:
                if all(map(is_free, self._ports())):
                    raise
                self._choose_ports()
        return self._launch()

    def _logs(self) -> str:
        return "".join(process.tail(log) for log in sorted(self._folder.glob("*.log")))
