"""`readPreference` of the connection string: the member that a change stream is read from."""

from __future__ import annotations

from collections.abc import Callable

from pymongo.read_preferences import Nearest, Primary, PrimaryPreferred, Secondary, SecondaryPreferred
from pymongo.server_selectors import Selection

from cdckit_mongodb.server.connection import Client
from cdckit_mongodb.server.one_server import Address, OneServer

Preference = Primary | PrimaryPreferred | Secondary | SecondaryPreferred | Nearest

_SET = "ReplicaSet"
"""What the driver's names of a replica set's states begin with."""


class OneMember(Nearest):
    """Leads all commands of one stream to one member: of those that a preference allows the one that answers fastest.

    A cursor is known only to the member that has opened it. Where that is away another one is taken, which does not
    know the cursor: the stream is resumed.

    Args:
        preferred: what is asked for.
    """

    def __init__(self, preferred: Callable[[Selection], Selection]) -> None:
        super().__init__()
        self._preferred = preferred
        self._one = OneServer()

    @property
    def address(self) -> Address | None:
        """The member's host and port, once a command has gone there."""
        return self._one.address

    def __call__(self, selection: Selection) -> Selection:
        """The member alone, as the driver chooses where to send a command."""
        kept = self._one.kept(one for one in selection.server_descriptions if one.is_readable)
        chosen = kept or self._one.chosen(self._preferred(selection).server_descriptions)
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
