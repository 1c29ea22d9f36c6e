"""What is particular to the events of one connector, for serializers that must know."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EventTraits:
    """Those of the events whose source block names `connector`.

    Attributes:
        connector: what `source.connector` says in them.
        identity: what tells one event from another, beside the source's name: labels, and the fields of the source
            block that they stand for. Empty: the position tells them apart.
        data: the fields of an event that are about the row; None: all of them.
    """

    connector: str
    identity: tuple[tuple[str, str], ...] = ()
    data: tuple[str, ...] | None = ("before", "after")
