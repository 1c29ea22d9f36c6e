"""What MySQL and MariaDB servers have in common: data folder, start, stop, SQL."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from servers import process
from servers.cache import cached
from servers.errors import ServerStartError
from servers.ports import free_port
from servers.sql_script import statements
from servers.workspace import new_folder, socket_path

CAPTURE_PRIVILEGES = (
    "SELECT",
    "RELOAD",
    "SHOW DATABASES",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
    "LOCK TABLES",
)
"""What a user needs to snapshot and follow a server (Debezium's manual for MySQL, "Creating a user")."""
SIGNAL_PRIVILEGES = ("INSERT", "UPDATE", "DELETE")
"""What the same user needs besides to write watermarks and heartbeats into the source."""

Option = str | int | bool | None
_READY_SECONDS = 60
_STOP_SECONDS = 30
_PORT_TRIES = 5


@dataclass(frozen=True, slots=True)
class Installation:
    """How one installed server is run; ``name`` tells data folders of different versions apart."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None

    def spawn(self, options: Mapping[str, Option], log: Path) -> subprocess.Popen[bytes]:
        """Start the server, its output going to ``log``."""
        return process.spawn([*self.command, *_command_line(options)], log, env=self.env, cwd=self.folder)

    def run(self, options: Mapping[str, Option]) -> None:
        """Run the server for a task that ends by itself."""
        process.run([*self.command, *_command_line(options)], env=self.env, cwd=self.folder)


def daemon_user() -> str:
    """Return the user to run a server as: our own, which the servers want said when it is root."""
    return pwd.getpwuid(os.geteuid()).pw_name


class SQLServer(ABC):
    """A MySQL-family server with an own data folder, on a free port of loopback.

    Options are the server's own with underscores (``binlog_row_image="MINIMAL"``): true stands for the bare
    option, None leaves a default out. They hold until the next start or restart names others.
    """

    host: ClassVar[str] = "127.0.0.1"
    defaults: ClassVar[Mapping[str, Option]] = {}

    def __init__(self) -> None:
        self.port = free_port()
        self._folder = new_folder(type(self).__name__.lower())
        self._options: dict[str, Option] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def installation(self) -> Installation:
        """Find or make the installation to run.

        Raises:
            ServerUnavailableError: there is none; the message says what to do.
        """

    @abstractmethod
    def initialize(self, installation: Installation, datadir: Path) -> None:
        """Fill the empty folder ``datadir`` with the system tables of a server whose root has no password."""

    @property
    def datadir(self) -> Path:
        """Folder of the server's data."""
        return self._folder / "data"

    @property
    def socket(self) -> Path:
        """Unix socket, the way in for ``root``."""
        return socket_path(self._folder)

    @property
    def errlog(self) -> Path:
        """The server's error log, kept across restarts."""
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
        installation = self.installation()
        if self.datadir.exists():
            self._launch(installation)
        else:
            shutil.copytree(self._template(installation), self.datadir)
            self._launch_on_free_port(installation)
        return self

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
        """Send the running server a signal: SIGSTOP makes it hang, SIGCONT go on."""
        if (pid := self.pid) is not None:
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

    def connect(self, user: str = "root", password: str = "", **options: Any) -> Connection[Any]:
        """Open a connection in autocommit mode: for ``root`` by the socket, for others by TCP."""
        way: dict[str, Any] = {"unix_socket": str(self.socket)} if user == "root" else {"host": self.host}
        settings = {"autocommit": True, "charset": "utf8mb4", **way, **options}
        return pymysql.connect(user=user, password=password, port=self.port, **settings)

    def execute(
        self, sql: str, args: Sequence[Any] | None = None, **options: Any
    ) -> tuple[tuple[Any, ...], ...]:
        """Run one statement as ``root`` and return its rows; options are those of :meth:`connect`."""
        with self._session(**options) as connection, connection.cursor() as cursor:
            cursor.execute(sql, args)
            return tuple(cursor.fetchall())

    def run_sql(self, script: str, *, force: bool = False, **options: Any) -> None:
        """Run a script in one session of ``root``, statement by statement, as the command-line client would.

        Args:
            script: statements with delimiters; the ``DELIMITER`` command is understood.
            force: go on after a statement that fails.
            options: those of :meth:`connect`.
        """
        with self._session(**options) as connection, connection.cursor() as cursor:
            for statement in statements(script):
                try:
                    cursor.execute(statement)
                except pymysql.MySQLError as error:
                    if not force:
                        error.add_note(statement)
                        raise

    def run_sql_file(self, path: Path, *, force: bool = False, **options: Any) -> None:
        """Run the script in ``path`` as :meth:`run_sql` does."""
        self.run_sql(path.read_text(encoding="utf-8"), force=force, **options)

    def create_user(
        self, name: str, password: str, privileges: Sequence[str] = CAPTURE_PRIVILEGES + SIGNAL_PRIVILEGES
    ) -> None:
        """Make a user who may log in by TCP, without a trace in the binary log."""
        script = f"SET sql_log_bin=0; CREATE USER '{name}'@'%' IDENTIFIED BY '{password}';"
        if privileges:
            script += f"GRANT {', '.join(privileges)} ON *.* TO '{name}'@'%';"
        self.run_sql(script)

    @contextmanager
    def _session(self, **options: Any) -> Iterator[Connection[Any]]:
        connection = self.connect(**options)
        try:
            yield connection
        finally:
            connection.close()

    def _template(self, installation: Installation) -> Path:
        """Return an initialised data folder to copy, from the cache."""
        return cached(f"{installation.name}-data", lambda datadir: self.initialize(installation, datadir))

    def _launch_on_free_port(self, installation: Installation) -> None:
        """Start for the first time, on another port if somebody took ours in the meantime."""
        for _ in range(_PORT_TRIES):
            try:
                return self._launch(installation)
            except ServerStartError as error:
                if "address already in use" not in str(error).lower():
                    raise
                self.port = free_port()
        return self._launch(installation)

    def _launch(self, installation: Installation) -> None:
        options = {**self.defaults, **self._place(), **self._options}
        self._process = installation.spawn(options, self._folder / "output.log")
        self._wait_until_ready(self._process)

    def _place(self) -> dict[str, Option]:
        """Options that say where this server lives."""
        return {
            "user": daemon_user(),
            "datadir": str(self.datadir),
            "bind_address": self.host,
            "port": self.port,
            "socket": str(self.socket),
            "pid_file": str(self._folder / "server.pid"),
            "log_error": str(self.errlog),
        }

    def _wait_until_ready(self, child: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + _READY_SECONDS
        while not self._answers():
            if child.poll() is not None:
                raise ServerStartError(
                    f"{type(self).__name__} ended with {child.returncode}:\n{self._logs()}"
                )
            if time.monotonic() > deadline:
                child.kill()
                raise ServerStartError(
                    f"{type(self).__name__} silent for {_READY_SECONDS} s:\n{self._logs()}"
                )
            time.sleep(0.02)

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            self.execute("SELECT 1")
        except pymysql.MySQLError as error:
            return bool(error.args[0] == ER.ACCESS_DENIED_ERROR)
        return True

    def _logs(self) -> str:
        return process.tail(self._folder / "output.log") + process.tail(self.errlog)


def _command_line(options: Mapping[str, Option]) -> Iterator[str]:
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif value is False:
            yield f"{flag}=0"
        elif value is not None:
            yield f"{flag}={value}"
