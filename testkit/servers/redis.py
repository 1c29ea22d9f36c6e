"""Redis from the system's packages."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from testkit.servers.apt import ensure_program
from testkit.servers.process import spawn
from testkit.servers.server import Option, Server

_PROGRAM = "CDCKIT_REDIS_SERVER"
_PACKAGES = ("redis-server", "redis")


class RedisServer(Server):
    """A server that writes an append-only file. Options are Redis' own, with underscores for dashes."""

    defaults: ClassVar[Mapping[str, Option]] = {"appendonly": "yes", "save": ""}

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    def install(self) -> None:
        """Fetch Redis: ``$CDCKIT_REDIS_SERVER``, the ``redis-server`` on PATH, or Debian's."""
        _program()

    def client(self, password: str | None = None) -> Any:
        """Open a client; answers are bytes."""
        import redis

        return redis.Redis(self.host, self.port, password=password, protocol=2)

    def execute(self, *command: Any) -> Any:
        """Run a command."""
        with closing(self.client()) as client:
            return client.execute_command(*command)

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = {**self.defaults, **self._options, "bind": self.host, "port": self.port, "dir": str(self.datadir)}
        words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
        return spawn([str(_program()), *words], self.errlog)

    def _answers(self) -> bool:
        """It answers a PING, be it with the wish for a password, once it has read its data."""
        try:
            with socket.create_connection((self.host, self.port), 1) as line:
                line.sendall(b"PING\r\n")
                answer = line.recv(100)
        except OSError:
            return False
        return answer.startswith((b"+PONG", b"-NOAUTH"))


@cache
def _program() -> Path:
    named = os.environ.get(_PROGRAM)
    return Path(named) if named else ensure_program("redis-server", *_PACKAGES)
