"""A router of a sharded cluster, as far as a client can tell: no package brings mongos."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from typing import Any, Self

import bson

_HEADER = struct.Struct("<iiii")
_REPLY, _MESSAGE = 1, 2013
_DOCUMENT_AT = {_REPLY: 20, _MESSAGE: 5}
"""Where the document begins behind the header (MongoDB's manual, "MongoDB Wire Protocol")."""
_OF_SETS = ("setName", "setVersion", "hosts", "primary", "me", "electionId", "lastWrite", "secondary")


class Router:
    """Passes on what goes between clients and a mongod, whose answers to `hello` become a router's.

    Args:
        port: the mongod's on loopback.

    Attributes:
        port: the router's own.
        commands: what clients asked for.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.commands: list[dict[str, Any]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        """The connection string."""
        return f"mongodb://127.0.0.1:{self.port}/"

    @property
    def streams(self) -> int:
        """How many change streams were opened through it."""
        return sum("$changeStream" in stage for command in self.commands for stage in command.get("pipeline", ()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                threading.Thread(target=self._requests, args=(client, server), daemon=True).start()
                threading.Thread(target=self._answers, args=(server, client), daemon=True).start()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), client, server:
            while message := _message(client):
                self.commands.append(_document(message))
                server.sendall(message)

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError), server, client:
            while message := _message(server):
                client.sendall(_routed(message))


def _message(source: socket.socket) -> bytes:
    """The next message with its header; nothing at the end."""
    header = _exactly(source, _HEADER.size)
    return header and header + _exactly(source, _HEADER.unpack(header)[0] - _HEADER.size)


def _exactly(source: socket.socket, size: int) -> bytes:
    found = bytearray()
    while len(found) < size:
        part = source.recv(size - len(found))
        if not part:
            return b""
        found += part
    return bytes(found)


def _routed(message: bytes) -> bytes:
    """The message; where it tells of a replica set, a router's instead."""
    _, number, answered, kind = _HEADER.unpack_from(message)
    if b"\x02setName\0" not in message:
        return message
    hello = _document(message)
    if "maxWireVersion" not in hello:
        return message
    told = {name: value for name, value in hello.items() if name not in _OF_SETS} | {"msg": "isdbgrid"}
    body = message[_HEADER.size : _begin(kind)] + bson.encode(told)
    return _HEADER.pack(_HEADER.size + len(body), number, answered, kind) + body


def _document(message: bytes) -> dict[str, Any]:
    """The document of a message; empty for kinds that hold it elsewhere."""
    begin = _begin(_HEADER.unpack_from(message)[3])
    if begin is None:
        return {}
    (size,) = struct.unpack_from("<i", message, begin)
    return bson.decode(message[begin : begin + size])


def _begin(kind: int) -> int | None:
    """Where the document begins in a message of that kind."""
    at = _DOCUMENT_AT.get(kind)
    return None if at is None else _HEADER.size + at
