"""Counts the elections of a replica set's primary, as the driver's monitoring sees them."""

from __future__ import annotations

from bson import ObjectId
from pymongo.monitoring import (
    ServerHeartbeatFailedEvent,
    ServerHeartbeatListener,
    ServerHeartbeatStartedEvent,
    ServerHeartbeatSucceededEvent,
)

from cdckit import SourceCounts


class Elections(ServerHeartbeatListener):
    """Listens to one client, from its monitoring threads.

    An election is known by its primary's `electionId`, which grows with each: one that the same member wins counts as
    well, and a primary that does not know yet that it is none any more does not (MongoDB's specification "Server
    Discovery And Monitoring").

    Args:
        counts: where they are counted.
    """

    def __init__(self, counts: SourceCounts) -> None:
        self._counts = counts
        self._last: ObjectId | None = None

    def started(self, event: ServerHeartbeatStartedEvent) -> None:
        """Nothing is known by that."""

    def succeeded(self, event: ServerHeartbeatSucceededEvent) -> None:
        """Looks for a primary of a later election."""
        found = event.reply.election_id if event.reply.is_writable else None
        if found is not None and (self._last is None or found > self._last):
            self._counts.elections += self._last is not None
            self._last = found

    def failed(self, event: ServerHeartbeatFailedEvent) -> None:
        """No election is seen by that."""
