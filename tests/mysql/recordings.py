"""Recordings of Debezium and this project's events in one form, with what differs from run to run masked."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "data" / "debezium"
MASK = "*"

_TAKEN: dict[Path, int] = {}
"""How many events of each file were taken."""
_TIMES = ("ts_ms", "ts_us", "ts_ns", "__source_ts_ms", "__ts_ms")
_PLACES = (*_TIMES, "pos", "file", "server_id", "gtid", "thread", "version", "ord", "lsid", "txnNumber", "wallTime")
_CLOUD_EVENT = ("time", *(f"iodebezium{name.replace('_', '')}" for name in _PLACES))
HEARTBEATS = "__debezium-heartbeat."
"""What the names of heartbeats' topics begin with."""

_RANDOM = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b\d{4}-\d\d-\d\dT[0-9:.]+Z")
"""What stands in the watermarks of an incremental snapshot: their identifiers, and times."""

Event = dict[str, Any]
ByTopic = dict[str, list[str]]


def recorded(target: str, scenario: str, part: str) -> ByTopic:
    """A recording's events by topic; `part` is `snapshot` or `stream`."""
    return by_topic(read_events(DATA / target / scenario / f"{part}.jsonl"))


JSON_HEADERS = "serializer.header.format=json"
"""What recordings were made with, whatever converter of headers their configurations leave to Connect."""


def read_events(path: Path) -> Iterator[Event]:
    """The events of a file, one a line."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def take_events(path: Path) -> list[Event]:
    """The events of a file that were not taken before."""
    found = list(read_events(path))
    taken, _TAKEN[path] = _TAKEN.get(path, 0), len(found)
    return found[taken:]


def by_topic(events: Iterable[Event]) -> ByTopic:
    """Events by topic, each as one line of text; the order of fields is part of it."""
    ids: dict[str, str] = {}
    found: ByTopic = defaultdict(list)
    for event in events:
        masked = {
            "topic": event["topic"],
            "key": _masked(event["key"], event["topic"], ids),
            "value": _masked(event["value"], event["topic"], ids),
            "headers": [_masked_header(header) for header in event["headers"] if not _own(header)],
        }
        found[event["topic"]].append(json.dumps(masked, ensure_ascii=False))
    return {topic: _distinct(lines) if topic.startswith(HEARTBEATS) else lines for topic, lines in found.items()}


def _distinct(lines: list[str]) -> list[str]:
    """How many heartbeats there are depends on the clock."""
    return list(dict.fromkeys(lines))


def _own(header: Event) -> bool:
    """Debezium has no headers of this project."""
    return str(header["key"]).startswith("__cdckit.")


def _masked_header(header: Event) -> Event:
    if not header["key"].endswith(".runId"):
        return header
    value = header["value"]
    return {**header, "value": {**value, "payload": MASK} if isinstance(value, dict) else MASK}


def _masked(datum: Any, topic: str, ids: dict[str, str]) -> Any:
    """A key or value; with its schema or without."""
    if not isinstance(datum, dict):
        return datum
    if "schema" in datum and "payload" in datum:
        return {**datum, "payload": _masked(datum["payload"], topic, ids)}
    if "aggregate_type" in datum or (list(datum) == ["id"] and not topic.endswith(".transaction")):
        return _masked_notification(datum)
    made = {name: _mask_one(name, value, _TIMES) for name, value in datum.items()}
    after: Any = made.get("after")
    if isinstance(after, dict) and str(after.get("type")).startswith("snapshot-window-"):
        made["after"] = {name: _RANDOM.sub(MASK, value) for name, value in after.items()}
    if isinstance(made.get("source"), dict):
        made["source"] = {name: _mask_one(name, value, _PLACES) for name, value in made["source"].items()}
    if isinstance(made.get("transaction"), dict):
        made["transaction"] = {**made["transaction"], "id": _numbered(made["transaction"]["id"], ids)}
    if topic.endswith(".transaction"):
        made["id"] = _numbered(made["id"], ids)
    return _masked_cloud_event(made, topic, ids) if "specversion" in made else made


def _masked_notification(datum: Event) -> Event:
    """A notification, whose details have no order, or a key that is one identifier."""
    made: Event = {
        name: _RANDOM.sub(MASK, value) if name == "id" and isinstance(value, str) else value
        for name, value in datum.items()
    }
    if "additional_data" in made:
        made |= {"timestamp": MASK, "additional_data": dict(sorted(made["additional_data"].items()))}
    return made


def _masked_cloud_event(event: Event, topic: str, ids: dict[str, str]) -> Event:
    made = {name: _mask_one(name, value, _CLOUD_EVENT) for name, value in event.items()}
    made["id"] = re.sub(r"(file|pos):[^;]+", rf"\1:{MASK}", event["id"])
    made["data"] = _masked(event["data"], topic, ids)
    return made


def _mask_one(name: str, value: Any, names: tuple[str, ...]) -> Any:
    """A null stays a null: whether there is a value is part of the comparison."""
    return MASK if name in names and value is not None else value


def _numbered(identifier: str, ids: dict[str, str]) -> str:
    return ids.setdefault(identifier, f"transaction {len(ids) + 1}")
