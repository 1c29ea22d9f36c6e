"""What MySQL and MariaDB servers have in common: options, data folder, users, SQL."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pymysql
from pymysql.connections import Connection
from pymysql.constants import ER

from testkit.servers import process
from testkit.servers.cache import cached
from testkit.servers.server import Option, Server
from testkit.servers.sql_script import statements
from testkit.servers.workspace import socket_path

CAPTURE_PRIVILEGES = (
    "SELECT",
    "RELOAD",
    "SHOW DATABASES",
    "REPLICATION SLAVE",
    "REPLICATION CLIENT",
)
"""What a user needs to snapshot and follow a server (Debezium's manual for MySQL, "Creating a user")."""
SIGNAL_PRIVILEGES = ("INSERT", "UPDATE", "DELETE")
"""What the same user needs besides to write watermarks and heartbeats into the source."""
_PURGE_SECONDS = 60


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


class SQLServer(Server):
    """A server of the MySQL family.

    Options are mysqld's with underscores (``binlog_row_image="MINIMAL"``); true stands for the bare option.
    """

    defaults: ClassVar[Mapping[str, Option]] = {}

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
    def socket(self) -> Path:
        """Unix socket, the way in for ``root``."""
        return socket_path(self._folder)

    def connect(self, user: str = "root", password: str = "", **options: Any) -> Connection[Any]:
        """Open a connection in autocommit mode: for ``root`` by the socket, for others by TCP."""
        way: dict[str, Any] = {"host": self.host}
        if user == "root":
            # For each connection with TLS the driver reads the machine's certificates, which takes 35 ms.
            way = {"unix_socket": str(self.socket), "ssl_disabled": True}
        settings = {"autocommit": True, "charset": "utf8mb4", **way, **options}
        return pymysql.connect(user=user, password=password, port=self.port, **settings)

    def execute(self, sql: str, args: Sequence[Any] | None = None, **options: Any) -> tuple[tuple[Any, ...], ...]:
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

    def end_session(self, number: int) -> None:
        """Ends a session, which may have ended by itself since it was listed."""
        try:
            self.execute(f"KILL {number}")
        except pymysql.MySQLError as error:
            if error.args[0] != ER.NO_SUCH_THREAD:
                raise

    def end_log_readers(self) -> None:
        """Ends the sessions that the log is being sent to."""
        listed = "SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"
        for [number] in self.execute(listed):
            self.end_session(number)

    def purge_logs(self) -> None:
        """Leave the last file of the binary log alone, as soon as no reader has an older one open any more."""
        deadline = time.monotonic() + _PURGE_SECONDS
        while len(files := self.execute("SHOW BINARY LOGS")) > 1:
            assert time.monotonic() < deadline, f"{files[0][0]} is still read"
            self.execute(f"PURGE BINARY LOGS TO '{files[-1][0]}'")
            time.sleep(0.05)

    @contextmanager
    def _session(self, **options: Any) -> Iterator[Connection[Any]]:
        connection = self.connect(**options)
        try:
            yield connection
        finally:
            connection.close()

    def install(self) -> None:
        """Fetch the server and make its template of a data folder."""
        self._template()

    def _template(self) -> Path:
        installation = self.installation()
        return cached(f"{installation.name}-data", lambda folder: self.initialize(installation, folder))

    def _lay_out(self, data: Path) -> None:
        shutil.copytree(self._template(), data)

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = {**self.defaults, **self._place(), **self._options}
        return self.installation().spawn(options, self._folder / "output.log")

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

    def _answers(self) -> bool:
        if not self.socket.exists():
            return False
        try:
            self.execute("SELECT 1")
        except pymysql.MySQLError as error:
            return bool(error.args[0] == ER.ACCESS_DENIED_ERROR)
        return True


def daemon_user() -> str:
    """Return the user to run a server as: our own, which the servers want said when it is root."""
    return pwd.getpwuid(os.geteuid()).pw_name


def _command_line(options: Mapping[str, Option]) -> Iterator[str]:
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            yield flag
        elif value is False:
            yield f"{flag}=0"
        elif value is not None:
            yield f"{flag}={value}"
