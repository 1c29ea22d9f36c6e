"""Writes that only the primary has, because the other members were told not to fetch them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pymongo import MongoClient, WriteConcern

from testkit.servers.mongodb import MongoNode

Document = dict[str, Any]

ONE = WriteConcern(1, j=True)
"""The primary alone has a write, and keeps it when it is killed."""
_NO_FETCHING = "stopReplProducer"
_SECONDS = 60.0


def wait_for(holds: Callable[[], bool], what: str, seconds: float) -> None:
    """Waits until something holds; fails when it does not for too long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"never came to {what}"
        time.sleep(0.02)


def insert(client: MongoClient[Document], database: str, numbers: range, write_concern: WriteConcern) -> None:
    """Inserts documents with these `_id`s, one by one."""
    collection = client[database].get_collection("a", write_concern=write_concern)
    for number in numbers:
        collection.insert_one({"_id": number})


def replicate(nodes: Iterable[MongoNode], mode: str) -> None:
    """Has members fetch what the primary writes (`off`), or not (`alwaysOn`)."""
    for node in nodes:
        with node.client() as client:
            client.admin.command({"configureFailPoint": _NO_FETCHING, "mode": mode})


def cut_off(primary: MongoNode, others: Iterable[MongoNode]) -> None:
    """Has the other members fetch nothing of what the primary writes from now on.

    Each has left what it was fetching: what lies in its connection already would else be taken once it may fetch again.
    """
    entered: dict[MongoNode, int] = {}
    for node in others:
        with node.client() as client:
            entered[node] = client.admin.command({"configureFailPoint": _NO_FETCHING, "mode": "alwaysOn"})["count"]
    with primary.client() as client:
        client.cut_off.get_collection("marks", write_concern=ONE).insert_one({})
    for node, count in entered.items():
        with node.client() as client:
            left = {"waitForFailPoint": _NO_FETCHING, "timesEntered": count + 1, "maxTimeMS": int(_SECONDS * 1000)}
            client.admin.command(left)


def taken_back(node: MongoNode) -> set[Path]:
    """The files with what a member has rolled back."""
    return set((node.datadir / "rollback").rglob("*.bson"))
