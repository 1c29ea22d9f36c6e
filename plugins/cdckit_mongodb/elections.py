"""Counts the elections of a replica set's primary, as the driver's monitoring sees them."""

from __future__ import annotations

from typing import Any

from pymongo.monitoring import (
    TopologyClosedEvent,
    TopologyDescriptionChangedEvent,
    TopologyListener,
    TopologyOpenedEvent,
)

from cdckit.source_counts import SourceCounts

_PRIMARY = "RSPrimary"


class Elections(TopologyListener):
    """Listens to one client, from its monitoring threads.

    An election is known by its primary and its `electionId`, so that one which the same member wins counts as well
    (MongoDB's specification "Server Discovery And Monitoring").

    Args:
        counts: where they are counted.
    """

    def __init__(self, counts: SourceCounts) -> None:
        self._counts = counts
        self._last: tuple[Any, Any] | None = None

    def opened(self, event: TopologyOpenedEvent) -> None:
        """Nothing is known yet."""

    def description_changed(self, event: TopologyDescriptionChangedEvent) -> None:
        """Looks for a primary that was not there before."""
        for address, server in event.new_description.server_descriptions().items():
            found = (address, server.election_id)
            if server.server_type_name == _PRIMARY and found != self._last:
                self._counts.elections += self._last is not None
                self._last = found

    def closed(self, event: TopologyClosedEvent) -> None:
        """The client is gone."""
