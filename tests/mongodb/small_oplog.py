"""A replica set that forgets quickly, and what makes it forget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pymongo import MongoClient
from pymongo.errors import OperationFailure

from testkit.servers.mongodb import MongoReplicaSet

Document = dict[str, Any]


def forgetful() -> MongoReplicaSet:
    """A set with an oplog of one megabyte, which fails commands where a test asks for it."""
    return MongoReplicaSet(oplogSize="1", syncdelay="1", setParameter="enableTestCommands=1")


def fill_the_oplog(client: MongoClient[Document], offset: Document) -> None:
    """Writes until the oplog begins after the second of the offset."""
    filling = client.filling.a
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        filling.insert_many([{"text": "x" * 100_000} for _ in range(10)])
        filling.delete_many({})
        if oldest(client)[0] > offset["sec"]:
            return
    raise AssertionError("the oplog still holds the place")


def oldest(client: MongoClient[Document]) -> tuple[int, int]:
    """The time of the oplog's first entry, which the server may drop while it is read."""
    while True:
        with suppress(OperationFailure):
            first = next(client.local["oplog.rs"].find().sort("$natural", 1).limit(1))["ts"]
            return first.time, first.inc


def settled(client: MongoClient[Document]) -> tuple[int, int]:
    """The same, once the server has dropped what it is to drop."""
    found, before = oldest(client), (0, 0)
    while found != before:
        time.sleep(1.5)
        found, before = oldest(client), found
    return found


@contextmanager
def failing(client: MongoClient[Document], command: str, code: int, **data: Any) -> Iterator[None]:
    """The server refuses a command with an error, again and again."""
    fault = {"failCommands": [command], "errorCode": code, **data}
    client.admin.command("configureFailPoint", "failCommand", mode="alwaysOn", data=fault)
    try:
        yield
    finally:
        client.admin.command("configureFailPoint", "failCommand", mode="off")
