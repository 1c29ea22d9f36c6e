"""A MySQL server's answers that are damaged, from its greeting on: results, or an error of the source's."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from random import Random

import pytest

from cdckit.errors import CdcError, SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import connect, driver_errors
from fuzz.documents import mutated_bytes
from fuzz.guard import limited
from mysql.capture import config_for
from testkit.servers.mysql_family import SQLServer

STATEMENTS = ("SHOW VARIABLES LIKE 'version%'", "SELECT 1.5, 'é', NOW(), NULL, x'00ff'")


class Relay:
    """Stands between client and server and keeps what the server says, answer by answer."""

    def __init__(self, server_port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._server_port = server_port
        self.port: int = self._listener.getsockname()[1]
        self.answers: list[bytes] = [b""]
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        client, _ = self._listener.accept()
        server = socket.create_connection(("127.0.0.1", self._server_port))
        threading.Thread(target=self._back, args=(server, client), daemon=True).start()
        with contextlib.suppress(OSError):
            while data := client.recv(1 << 16):
                self.answers.append(b"")
                server.sendall(data)
        server.close()

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(1 << 16):
                self.answers[-1] += data
                client.sendall(data)


class Replaying:
    """A server that gives answers one by one, whatever it is asked, and hangs up behind the last one."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=8)
        self.port: int = self._listener.getsockname()[1]
        self.answers: Sequence[bytes] = ()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                client, _ = self._listener.accept()
                with client:
                    for number, answer in enumerate(self.answers):
                        if number and not client.recv(1 << 16):
                            break
                        client.sendall(answer)


def asked(config: MySqlConfig) -> list[tuple[object, ...]]:
    """What a source does: logs in, and asks."""
    found: list[tuple[object, ...]] = []
    with closing(connect(config)) as connection, driver_errors(config, "asking"), connection.cursor() as cursor:
        for statement in STATEMENTS:
            cursor.execute(statement)
            found += cursor.fetchall()
    return found


@pytest.fixture
def answers(db_server: SQLServer) -> Iterator[list[bytes]]:
    """What a server says to that."""
    relay = Relay(db_server.port)
    config = config_for(db_server, database_port=relay.port, database_ssl_mode="disabled")
    assert asked(config)
    yield [answer for answer in relay.answers if answer]


def test_a_greeting_that_ends_early() -> None:
    """The driver then knows one of its own names no longer."""
    server, greeting = Replaying(), b"\x0a9.1\0" + bytes(4) + b"12345678" + b"\0" + b"\xff\xf7"
    server.answers = [len(greeting).to_bytes(3, "little") + b"\0" + greeting]
    config, _ = MySqlConfig.load(
        {
            "topic.prefix": "p", "database.hostname": "127.0.0.1", "database.port": server.port,
            "database.user": "u", "database.password": "p", "database.ssl.mode": "disabled",
        },
        "source",
    )  # fmt: skip
    with pytest.raises(SourceError, match="the server's answer cannot be understood"):
        asked(config)


def test_damaged_answers(answers: list[bytes], db_server: SQLServer, cases: range) -> None:
    server, told_of = Replaying(), 0
    config = config_for(db_server, database_port=server.port, database_ssl_mode="disabled", connect_timeout_ms=1000)
    for seed in cases:
        random = Random(seed)
        at = random.randrange(len(answers))
        answer = mutated_bytes(answers[at], random, as_long=random.random() < 0.5)
        server.answers = [*answers[:at], answer]
        with limited(f"seed {seed}: {answer!r}", CdcError):
            try:
                asked(config)
            except CdcError:
                told_of += 1
                raise
    assert told_of
