"""`readPreference` of the connection string: the member that a change stream is read from."""

from __future__ import annotations

from collections.abc import Callable

from pymongo.read_preferences import Nearest, Primary, PrimaryPreferred, Secondary, SecondaryPreferred
from pymongo.server_selectors import Selection

from cdckit_mongodb.connection import Client

Preference = Primary | PrimaryPreferred | Secondary | SecondaryPreferred | Nearest

_SET = "ReplicaSet"
"""What the driver's names of a replica set's states begin with."""


class OneMember(Nearest):
    """Leads all commands of one stream to one member: of those that a preference allows the one that answers fastest.

    A cursor is known only to the member that has opened it. Where that is away another one is taken, which does not
    know the cursor: the stream is resumed.

    Args:
        preferred: what is asked for.

    Attributes:
        address: the member's host and port, once a command has gone there.
    """

    def __init__(self, preferred: Callable[[Selection], Selection]) -> None:
        super().__init__()
        self._preferred = preferred
        self.address: tuple[str, int | None] | None = None

    def __call__(self, selection: Selection) -> Selection:
        """The member alone, as the driver chooses where to send a command."""
        servers = [one for one in selection.server_descriptions if one.is_readable]
        chosen = [one for one in servers if one.address == self.address]
        if not chosen:
            allowed = self._preferred(selection).server_descriptions
            chosen = sorted(allowed, key=lambda one: one.round_trip_time or 0)[:1]
        self.address = chosen[0].address if chosen else self.address
        return selection.with_server_descriptions(chosen)

    def __repr__(self) -> str:
        return repr(self._preferred)


def stream_preference(client: Client) -> Preference:
    """What the commands of one change stream are sent with.

    A stream that is read from the primary goes on at the next one. Routers find the shards' members by themselves.
    """
    asked = client.read_preference
    assert isinstance(asked, Preference)
    if isinstance(asked, Primary) or not client.topology_description.topology_type_name.startswith(_SET):
        return asked
    return OneMember(asked)
