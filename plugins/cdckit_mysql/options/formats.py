"""Options: whose events to send, and what else that decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from cdckit.connector.options.event_format import AS_TEXT, EventFormatDefaults

EventFormatName = Annotated[Literal["3", "1.9", "1.1"], AS_TEXT]


class FormatOptions(EventFormatDefaults):
    """The format of events."""

    event_format: EventFormatName = "3"
    """Which Debezium's events to send: `3`, `1.9` or `1.1`. The old ones bring their defaults with them:
    `schema.name.adjustment.mode=avro`, `skipped.operations=none`.
    """

    @classmethod
    def advice(cls, given: Mapping[str, str]) -> list[str]:
        """A configuration that was written for Debezium 1 should say whose events are wanted."""
        if given.get("topic.prefix") != "database.server.name" or "event.format" in given:
            return super().advice(given)
        return [
            *super().advice(given),
            "'database.server.name' is Debezium 1's name of 'topic.prefix', but events will be in Debezium 3's format: "
            "set event.format=1.9 for those of Debezium 1.9, or event.format=3 to say that the new ones are right",
        ]
