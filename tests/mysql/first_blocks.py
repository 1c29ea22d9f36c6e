"""Recordings of the source block of Debezium before 0.10, and the same of a run's events."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mysql.recordings import Event, read_events

_DATA = Path(__file__).parents[1] / "data" / "source-struct-v1"


def recorded(name: str) -> tuple[Any, list[Event]]:
    """The block's schema, and the events, each a topic, key and source block."""
    schema, *events = (json.loads(line) for line in (_DATA / f"{name}.jsonl").read_text().splitlines())
    return schema["schema"], events


def of_run(output: Path) -> tuple[Any, list[Event]]:
    """The same of what a file sink wrote."""
    changes = [event for event in read_events(output) if event["value"] is not None]
    [schema] = _distinct(_source_schema(event["value"]["schema"]) for event in changes)
    return schema, [
        {
            "topic": event["topic"],
            "key": event["key"]["payload"],
            "source": event["value"]["payload"]["source"],
        }
        for event in changes
    ]


def masked(events: Iterable[Event], of_the_server: frozenset[str]) -> list[Event]:
    """Events without what their blocks have by chance, but with its type; in the order of their topics."""
    hidden = [
        {
            **event,
            "source": {
                name: type(value).__name__ if name in of_the_server else value
                for name, value in event["source"].items()
            },
        }
        for event in events
    ]
    return sorted(hidden, key=lambda event: event["topic"])


def _source_schema(value: dict[str, Any]) -> Any:
    return next(field for field in value["fields"] if field["field"] == "source")


def _distinct(schemas: Iterable[Any]) -> list[Any]:
    return [json.loads(text) for text in dict.fromkeys(map(json.dumps, schemas))]
