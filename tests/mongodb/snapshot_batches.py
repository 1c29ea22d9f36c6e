"""Collections of one test whose snapshot is read in batches, and what came of it."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Sequence
from typing import Any

from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from pymongo.database import Database

from cdckit.api.batch import Batch
from cdckit.api.marks import MarkKind
from cdckit.api.record import Record
from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

KINDS: list[Any] = [
    MinKey(),
    None,
    *(-5, 0.5, Decimal128("7.25"), Int64(2**60), float("inf")),
    *("", "B", "a", "é", "😀"),
    {},
    {"x": 1},
    {"x": 1, "y": {"z": "w"}},
    Binary(b"\x00\x01"),
    Binary.from_uuid(uuid.UUID(int=7)),
    *(ObjectId("0" * 24), ObjectId("f" * 24)),
    *(False, True),
    *(datetime.datetime(1969, 12, 31), datetime.datetime(2026, 1, 1)),
    Timestamp(5, 6),
    MaxKey(),
]
"""An `_id` of every type that the server takes, in its order."""


def capture_of(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    """A source that reads a database, on Spark 80 documents at a time."""
    return Capture(mongo.uri, **{"database_include_list": database.name, "snapshot_batch_rows": 80, **options})


def fill(database: Own, name: str, identifiers: Iterable[Any]) -> None:
    """Documents with these `_id`s and a number each, in the order in which they are given."""
    database[name].insert_many({"_id": identifier, "n": n} for n, identifier in enumerate(identifiers))


def records_of(batches: Iterable[Sequence[Batch]]) -> list[Record]:
    """All records of some batches that were read in splits."""
    return [record for batch in batches for part in batch for record in part.records]


def numbers_read(records: Iterable[Record], name: str = "a") -> list[int]:
    """The documents' numbers, in the order of the positions."""
    found = sorted((record for record in records if change(record)["op"] == "r"), key=lambda each: each.position)
    return [shown(each)[2]["n"] for each in found if change(each)["source"]["collection"] == name]


def assert_unlike_positions(records: Sequence[Record]) -> None:
    """No position stands twice, and all are of one width."""
    positions = [record.position for record in records]
    assert len(set(positions)) == len(positions)
    assert len({len(position) for position in positions}) == 1


def documents_after(records: Iterable[Record]) -> dict[tuple[str, str], Any]:
    """The documents that a consumer has after these events."""
    found: dict[tuple[str, str], Any] = {}
    for record in records:
        operation, key, document = shown(record)
        name = record.topic.rpartition(".")[2], key
        if operation in ("d", None):
            found.pop(name, None)
        elif document is not None:  # else it was gone when it was looked up
            found[name] = document["n"]
    return found


def at_server(database: Own, *names: str) -> dict[tuple[str, str], Any]:
    """The same of what the collections hold now."""
    return {(name, str(each["_id"])): each["n"] for name in names for each in database[name].find()}


def marks_of(batches: Iterable[Sequence[Batch]]) -> list[tuple[MarkKind, str, bool | None]]:
    """Marks in short: kind, collection, and for which targets."""
    marks = [mark for batch in batches for part in batch for mark in part.marks]
    return [(mark.kind, mark.table.rpartition(".")[2], mark.of_shared) for mark in marks]
