"""Who listens to OpenLineage's events over HTTP, on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from testkit.posted import posted_to


class Receiver:
    """Keeps the events that are posted.

    Attributes:
        events: in the order in which they came.
        authorized: the header that came with each.
        refuses: how many requests are answered with 503 first.
    """

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.authorized: list[str] = []
        self.refuses = 0
        self.url = ""

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> int:
        """Takes one request; gives the answer's status."""
        assert path == "/api/v1/lineage"
        if self.refuses:
            self.refuses -= 1
            return 503
        self.authorized.append(headers.get("authorization", ""))
        self.events.append(json.loads(body))
        return 201


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listens while the context lasts."""
    receiver = Receiver()
    with posted_to(receiver.take) as receiver.url:
        yield receiver
