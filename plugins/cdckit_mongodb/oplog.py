"""What the oplog holds: its oldest and its newest operation."""

from __future__ import annotations

from datetime import UTC, datetime

from pymongo.errors import PyMongoError

from cdckit_mongodb.connection import Client
from cdckit_mongodb.offsets import Moment


def oplog_ends(client: Client) -> tuple[Moment, Moment] | None:
    """The times of the oldest and of the newest entry; None where the user may not read it, or a router hides it."""
    try:
        with client.local["oplog.rs"].find({}, {"ts": 1}).sort("$natural", 1).limit(1) as first:
            oldest = next(first)["ts"]
        with client.local["oplog.rs"].find({}, {"ts": 1}).sort("$natural", -1).limit(1) as last:
            newest = next(last)["ts"]
    except (PyMongoError, StopIteration):
        return None
    return (oldest.time, oldest.inc), (newest.time, newest.inc)


def clock_text(seconds: float) -> str:
    """A time as ISO 8601 has it, in UTC and to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment_told(moment: Moment) -> str:
    """A cluster time as people and offsets write it."""
    return f"{clock_text(moment[0])} ({moment[0]}:{moment[1]})"
