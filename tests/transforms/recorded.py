"""The recorded answers of Java's transforms, and this project's records in the same form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from cdckit.api.record import Record
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

RECORDINGS = Path(__file__).parent / "recordings"
SERIALIZER = JsonSerializer(
    JsonConfig.model_validate({"schemas.enable": True, "replace.null.with.default": False, "header.format": "json"})
)

Case = dict[str, Any]


def cases(name: str) -> list[Case]:
    """The chains of one file."""
    found: list[Case] = yaml.safe_load((RECORDINGS / f"{name}.yaml").read_text())
    return found


def recorded(case: Case) -> Iterator[tuple[Record, Any]]:
    """Each event, and the answer to it."""
    answers = [json.loads(line) for line in (RECORDINGS / f"{case['name']}.jsonl").read_text().splitlines()]
    records = read_records((RECORDINGS / f"{case.get('events', 'input')}.jsonl").open("rb"))
    yield from zip(records, answers, strict=True)


def written(record: Record | None) -> dict[str, Any] | None:
    """A record as answers are written."""
    if record is None:
        return None
    messages = SERIALIZER.serialize([record])
    key, value = messages.keys[0], messages.values[0]
    headers = [{"key": name, "value": text and json.loads(text)} for name, text in messages.headers[0]]
    chosen = {"partition": record.partition, "timestamp": record.timestamp}
    return {
        **{name: value for name, value in chosen.items() if value is not None},
        "topic": messages.topics[0],
        "key": key and json.loads(key),
        "value": value and json.loads(value),
        "headers": headers,
    }
