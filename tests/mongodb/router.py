"""Servers that no package brings, as far as a client can tell: a router of a sharded cluster, and an older mongod."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self

import bson

Document = dict[str, Any]

_HEADER = struct.Struct("<iiii")
_REPLY, _MESSAGE = 1, 2013
_DOCUMENT_AT = {_REPLY: 20, _MESSAGE: 5}
"""Where the document begins behind the header (MongoDB's manual, "MongoDB Wire Protocol")."""
_TELLING = (b"\x02setName\0", b"versionArray\0")
"""What messages hold that tell of the server."""
_OF_SETS = ("setName", "setVersion", "hosts", "primary", "me", "electionId", "lastWrite", "secondary")


class Proxy:
    """Passes on what goes between clients and a mongod, and changes some of its answers.

    Args:
        port: the mongod's on loopback.

    Attributes:
        port: the proxy's own.
        commands: what clients asked for.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.commands: list[Document] = []
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
            while (message := _message(server)) and self._pass_on(_changed(message, self._answered), client):
                pass

    def _pass_on(self, message: bytes, client: socket.socket) -> bool:
        """Gives an answer to the client; tells whether the connection stays."""
        client.sendall(message)
        return True

    def _answered(self, reply: Document) -> Document:
        """What clients get instead of a reply that tells of the server."""
        return reply


class Router(Proxy):
    """A proxy whose answers to `hello` are a router's."""

    def _answered(self, reply: Document) -> Document:
        if "setName" not in reply or "maxWireVersion" not in reply:
            return reply
        return {name: value for name, value in reply.items() if name not in _OF_SETS} | {"msg": "isdbgrid"}


class OlderServer(Proxy):
    """A proxy in front of a server that says of itself that it is older.

    Args:
        port: the mongod's on loopback.
        version: what it says.
    """

    def __init__(self, port: int, *version: int) -> None:
        super().__init__(port)
        self._version = version

    @property
    def uri(self) -> str:
        """The connection string; the members that the server names are not looked for."""
        return f"{super().uri}?directConnection=true"

    def _answered(self, reply: Document) -> Document:
        if "versionArray" not in reply:
            return reply
        return {**reply, "version": ".".join(map(str, self._version)), "versionArray": [*self._version, 0]}


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


def _changed(message: bytes, change: Callable[[Document], Document]) -> bytes:
    """The message; where it tells of the server, with its document changed."""
    _, number, answered, kind = _HEADER.unpack_from(message)
    if not any(mark in message for mark in _TELLING):
        return message
    body = message[_HEADER.size : _begin(kind)] + bson.encode(change(_document(message)))
    return _HEADER.pack(_HEADER.size + len(body), number, answered, kind) + body


def _document(message: bytes) -> Document:
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
