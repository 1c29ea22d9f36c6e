"""A server, or who answers in its place, asks for the password itself."""

from __future__ import annotations

import logging
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cdckit.errors import SourceError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import _warn_of_plain_text, connect
from cdckit_mysql.server.readiness import readiness
from mysql.capture import config_for
from testkit.servers.mysql_family import SQLServer

_CAPABILITIES = 0x0000_0001 | 0x0000_0200 | 0x0000_8000 | 0x0008_0000
"""LONG_PASSWORD, PROTOCOL_41, SECURE_CONNECTION and PLUGIN_AUTH, but no SSL (MySQL manual, "Capabilities Flags")."""


class Greeter:
    """Greets as a server without TLS, then asks to go on with an authentication plugin; keeps what comes."""

    def __init__(self, plugin: bytes) -> None:
        self._plugin = plugin
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.heard = b""

    def serve(self) -> None:
        """Talks to one client after the other."""
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with client:
                client.settimeout(10)
                client.sendall(_packet(0, _greeting()))
                client.recv(4096)
                client.sendall(_packet(2, b"\xfe" + self._plugin + b"\0" + b"\x04Password: "))
                while data := client.recv(4096):
                    self.heard += data

    def close(self) -> None:
        """Takes no more clients."""
        self._listener.close()


def _greeting() -> bytes:
    low, high = struct.pack("<I", _CAPABILITIES)[:2], struct.pack("<I", _CAPABILITIES)[2:]
    salt = b"12345678", b"123456789012\0"
    fixed = b"\x0a9.7.0\0" + struct.pack("<I", 1) + salt[0] + b"\0" + low + b"\xff\x02\0" + high + b"\x15" + bytes(10)
    return fixed + salt[1] + b"mysql_native_password\0"


def _packet(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


@contextmanager
def _greeter(plugin: bytes) -> Iterator[Greeter]:
    greeter = Greeter(plugin)
    threading.Thread(target=greeter.serve, daemon=True).start()
    try:
        yield greeter
    finally:
        greeter.close()


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog"])
@pytest.mark.parametrize("mode", ["preferred", "disabled"])
def test_it_is_not_sent_unencrypted(plugin: bytes, mode: str) -> None:
    with _greeter(plugin) as greeter:
        options = {"topic.prefix": "p", "database.hostname": "127.0.0.1", "database.port": str(greeter.port)}
        secret = {"database.user": "u", "database.password": "hush-hush", "database.ssl.mode": mode}
        config, _ = MySqlConfig.load(options | secret, "source")
        with pytest.raises(SourceError, match="asks for the password in clear text") as caught:
            connect(config)
    assert b"hush" not in greeter.heard
    assert "hush" not in str(caught.value)


def test_a_connection_in_plain_text_is_warned_of_once(
    mysql56_server: SQLServer, caplog: pytest.LogCaptureFixture
) -> None:
    _warn_of_plain_text.cache_clear()
    caplog.set_level(logging.WARNING, "cdckit.mysql")
    for _ in range(3):
        connect(config_for(mysql56_server)).close()
    assert caplog.text.count("in plain text") == 1
    caplog.clear()
    connect(config_for(mysql56_server, database_ssl_mode="disabled")).close()
    assert caplog.text == ""


def test_whether_it_is_encrypted_is_checked(mysql_server: SQLServer, mysql56_server: SQLServer) -> None:
    def found(server: SQLServer, **options: str) -> list[tuple[str, bool]]:
        checks = readiness(config_for(server, **options))
        return [(each.status, bool(each.remedy)) for each in checks if each.name == "encryption"]

    assert found(mysql_server) == [("ok", False)]
    assert found(mysql56_server) == [("warn", True)]
    assert found(mysql56_server, database_ssl_mode="disabled") == []
