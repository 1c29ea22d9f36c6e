"""When the oplog drops a place, at the rate at which it grows."""

from __future__ import annotations

import math
import time

from cdckit import Retention
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.server.connection import Client
from cdckit_mongodb.server.oplog import Oplog, clock_text, newest_moment, read_oplog

LEAST_MEGABYTES = 990
"""The smallest size that `replSetResizeOplog` takes (MongoDB's manual)."""
_WEEK_HOURS = 168


def retention(client: Client, at: StreamOffset) -> Retention | None:
    """How long the oplog keeps a place; None where the user may not read it, or a router hides it.

    Raises:
        PyMongoError: the server does not answer.
    """
    oplog = read_oplog(client)
    if oplog is None:
        return None
    newest = newest_moment(client)
    late = max(0.0, time.time() - at.sec) if newest > at.moment else 0.0
    return Retention(
        oldest_needed=f"the oplog at {clock_text(at.sec)}",
        purged_in=_dropped_in(oplog, at.sec),
        because=_because(oplog),
        remedy=resized(oplog, _WEEK_HOURS),
        lag_seconds=late,
        written=oplog.hourly_bytes / 3600 or None,
    )


def _dropped_in(oplog: Oplog, second: int) -> float | None:
    """In how many seconds the entries of a second are the oldest, and go.

    An oplog that is full drops as much as comes in, so that what it holds moves on as time does; one that is not has
    room to fill first. What is kept for a number of hours in any case stays for those.
    """
    window = oplog.newest[0] - oplog.oldest[0]
    if not window or oplog.hourly_bytes <= 0:
        return None
    filling = 0.0
    if not oplog.full and oplog.size is not None and oplog.capacity is not None:
        filling = (oplog.capacity - oplog.size) / oplog.hourly_bytes * 3600
    by_size = filling + max(0, second - oplog.oldest[0])
    by_time = second + oplog.kept_hours * 3600 - time.time() if oplog.kept_hours else 0.0
    return max(by_size, by_time, 0.0)


def _because(oplog: Oplog) -> str:
    size = "" if oplog.capacity is None else f"the oplog holds {oplog.capacity / 2**20:,.0f} MiB"
    kept = f"minRetentionHours = {oplog.kept_hours:g}" if oplog.kept_hours else ""
    return ", ".join(filter(None, (size, kept)))


def resized(oplog: Oplog, hours: int) -> str:
    """The command that has the oplog reach back so far."""
    megabytes = max(LEAST_MEGABYTES, math.ceil(oplog.hourly_bytes * hours / 2**20))
    size = f"size: {megabytes}, " if oplog.size is not None else ""
    command = f"db.adminCommand({{replSetResizeOplog: 1, {size}minRetentionHours: {hours}}})"
    return f"{command} on each member, or storage.oplogMinRetentionHours"
