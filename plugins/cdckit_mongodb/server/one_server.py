"""Commands that belong together go to one server: only the one that has opened a cursor knows it."""

from __future__ import annotations

from collections.abc import Iterable

from pymongo.server_description import ServerDescription

Address = tuple[str, int | None]


class OneServer:
    """Stays with a server as long as it is there.

    Attributes:
        address: the server's host and port, once one was chosen.
    """

    def __init__(self) -> None:
        self.address: Address | None = None

    def kept(self, servers: Iterable[ServerDescription]) -> list[ServerDescription]:
        """The server, where it is among these."""
        return [server for server in servers if server.address == self.address]

    def chosen(self, servers: Iterable[ServerDescription]) -> list[ServerDescription]:
        """The one of these that answers fastest, from now on; none where there are none."""
        fastest = sorted(servers, key=lambda server: server.round_trip_time or 0)[:1]
        if fastest:
            self.address = fastest[0].address
        return fastest
