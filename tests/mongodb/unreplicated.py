"""Writes that only the primary has, because the other members were told not to fetch them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from pymongo import MongoClient, WriteConcern

from testkit.servers.mongodb import MongoNode

Document = dict[str, Any]


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


def replicate(nodes: list[MongoNode], mode: str) -> None:
    """Has members fetch what the primary writes (`off`), or not (`alwaysOn`)."""
    for node in nodes:
        with node.client() as client:
            client.admin.command({"configureFailPoint": "stopReplProducer", "mode": mode})
