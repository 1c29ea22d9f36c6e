"""The transforms answer what Debezium's and Kafka Connect's own classes answered, event by event."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdckit.chain import build_chain
from cdckit.errors import TransformError
from cdckit.record import Record
from cdckit.serializers.json import JsonSerializer
from cdckit.serializers.json_config import JsonConfig
from cdckit.serializers.json_reader import read_records
from cdckit.struct import Struct, Template, TemplateStruct

RECORDINGS = Path(__file__).parent / "recordings"
CASES: list[dict[str, Any]] = yaml.safe_load((RECORDINGS / "cases.yaml").read_text())
SERIALIZER = JsonSerializer(
    JsonConfig.model_validate({"schemas.enable": True, "replace.null.with.default": False, "header.format": "json"})
)

Make = Callable[[Record], Record]


def _as_read(record: Record) -> Record:
    return record


def _of_a_template(record: Record) -> Record:
    """The record as a source makes it: what its rows event shares is a template."""
    value = record.value
    if not isinstance(value, Struct) or not str(value.schema.name).endswith(".Envelope"):
        return record
    source = value["source"]
    rows = [name for name in ("before", "after") if value[name] is not None]
    holes = tuple((value.schema.index[name],) for name in rows)
    row_number = (value.schema.index["source"], source.schema.index["row"])
    template = Template(value.schema, value.replace(**dict.fromkeys(rows)).values, (*holes, row_number))
    fills = (*(value[name] for name in rows), source["row"])
    return record.replace(value=TemplateStruct(template, fills))


def _whole_in_a_hole(record: Record) -> Record:
    """A template whose source, operation and times are holes: nothing can be taken from the template itself."""
    value = record.value
    if not isinstance(value, Struct) or not str(value.schema.name).endswith(".Envelope"):
        return record
    holes = tuple((at,) for at in range(len(value.values)))
    return record.replace(value=TemplateStruct(Template(value.schema, value.values, holes), value.values))


def _written(record: Record | None) -> dict[str, Any] | None:
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


@pytest.mark.parametrize("make", [_as_read, _of_a_template, _whole_in_a_hole])
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_event_becomes_what_it_becomes_there(case: dict[str, Any], make: Make) -> None:
    chain = build_chain(case["transforms"], {})
    expected = [json.loads(line) for line in (RECORDINGS / f"{case['name']}.jsonl").read_text().splitlines()]
    records = read_records((RECORDINGS / f"{case.get('events', 'input')}.jsonl").open("rb"))
    for number, (record, answer) in enumerate(zip(records, expected, strict=True)):
        where = f"event {number} of topic {record.topic}"
        if isinstance(answer, dict) and "unwritable" in answer:
            continue
        if isinstance(answer, dict) and "error" in answer:
            with pytest.raises(TransformError):
                chain.apply([make(record)])
            continue
        changed = chain.apply([make(record)])
        assert len(changed) == (0 if answer is None else 1), where
        wanted = _written(record) if answer == "unchanged" else answer
        assert _written(changed[0] if changed else None) == wanted, where
