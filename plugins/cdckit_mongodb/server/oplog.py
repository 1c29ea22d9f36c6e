"""What the oplog holds: its oldest and its newest operation, how much there is of it and how much it may hold."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bson import Timestamp
from pymongo.errors import OperationFailure, PyMongoError

from cdckit_mongodb.offsets import Moment
from cdckit_mongodb.server.connection import Client

_FULL = 0.9
"""The share of its capacity from which on an oplog drops what is old: it does so in strides."""
_FIRST_STRETCH = 1000
"""So many entries are measured first; what they have on the average says how many are next."""


@dataclass(frozen=True, slots=True)
class Oplog:
    """The oplog of the member that answers.

    Attributes:
        oldest: the time of its first entry.
        newest: the time of its last.
        size: the bytes of its entries; None where the user may not ask.
        capacity: how many it may hold; None likewise.
        kept_hours: how many hours it keeps at the least (`storage.oplogMinRetentionHours`), as far as that is known.
    """

    oldest: Moment
    newest: Moment
    size: int | None
    capacity: int | None
    kept_hours: float

    @property
    def seconds(self) -> int:
        """From the oldest entry to the newest, or what is kept in any case."""
        return max(self.newest[0] - self.oldest[0], round(self.kept_hours * 3600))

    @property
    def full(self) -> bool:
        """Whether it drops what is old; so it may, where its size is not known."""
        return self.size is None or self.capacity is None or self.size > _FULL * self.capacity

    @property
    def hourly_bytes(self) -> float:
        """How many bytes came in an hour; 0 where too little is known."""
        seconds = self.newest[0] - self.oldest[0]
        return (self.size or 0) / seconds * 3600 if seconds else 0.0


def read_oplog(client: Client) -> Oplog | None:
    """The oplog; None where the user may not read it, or a router hides it."""
    ends = oplog_ends(client)
    if ends is None:
        return None
    stats = _answer(client, "local", {"collStats": "oplog.rs"})
    truncation = _answer(client, "admin", {"serverStatus": 1}).get("oplogTruncation", {})
    return Oplog(*ends, stats.get("size"), stats.get("maxSize"), float(truncation.get("oplogMinRetentionHours", 0)))


def oplog_ends(client: Client) -> tuple[Moment, Moment] | None:
    """The times of the oldest and of the newest entry; None where the user may not read it, or a router hides it."""
    oplog = client.local["oplog.rs"]
    try:
        first, last = (next(oplog.find({}, {"ts": 1}).sort("$natural", way).limit(1))["ts"] for way in (1, -1))
    except (PyMongoError, StopIteration):
        return None
    return (first.time, first.inc), (last.time, last.inc)


def moment_behind(client: Client, moment: Moment, size: int) -> Moment | None:
    """The time of the operation about `size` bytes behind a moment: an eighth less at the most, or one entry more.

    None where there is less, or the user may not read the oplog, or a router hides it.

    Raises:
        PyMongoError: the server does not answer.
    """
    at, left, asked = moment, size, _FIRST_STRETCH
    while left > size // 8:
        stretch = _measured(client, at, asked)
        if stretch is None:
            return None
        entries, found, last = stretch
        if found > left and entries > 1:
            asked = min(entries // 2, max(1, entries * left // found))
            continue
        if found < left and entries < asked:
            return None
        at, left = last, left - found
        asked = min(4 * asked, max(1, entries * left // found))
    return at


def _measured(client: Client, behind: Moment, most: int) -> tuple[int, int, Moment] | None:
    """How many entries follow a moment, up to `most`, their bytes, and the time of the last; None where none do."""
    stages: list[dict[str, Any]] = [
        {"$match": {"ts": {"$gt": Timestamp(*behind)}}},
        {"$limit": most},
        {
            "$group": {
                "_id": None,
                "entries": {"$sum": 1},
                "bytes": {"$sum": {"$bsonSize": "$$ROOT"}},
                "last": {"$max": "$ts"},
            }
        },
    ]
    try:
        found = next(client.local["oplog.rs"].aggregate(stages, hint={"$natural": 1}), None)
    except OperationFailure:
        return None
    return None if found is None else (found["entries"], found["bytes"], (found["last"].time, found["last"].inc))


def _answer(client: Client, database: str, command: dict[str, Any]) -> dict[str, Any]:
    """What a command tells; nothing where the user may not ask."""
    try:
        return client[database].command(command)
    except OperationFailure:
        return {}


def newest_moment(client: Client) -> Moment:
    """The time of the newest operation that a majority of the members has.

    Raises:
        PyMongoError: the server does not answer.
    """
    hello = client.admin.command("hello")
    newest = hello["lastWrite"]["majorityOpTime"]["ts"] if "lastWrite" in hello else hello["operationTime"]
    return newest.time, newest.inc


def clock_text(seconds: float) -> str:
    """A time as ISO 8601 has it, in UTC and to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_told(moment: Moment) -> str:
    """A cluster time as people and offsets write it."""
    return f"{clock_text(moment[0])} ({moment[0]}:{moment[1]})"
