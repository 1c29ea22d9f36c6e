"""The source `debezium`: every message that Debezium was recorded to write comes out as it went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from cdckit.api.record import Record
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit_ticdc.decoding.envelopes import EnvelopeDecoder, EnvelopeOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.reading.lines import read_line

DATA = Path(__file__).parents[1] / "data" / "debezium"
NOT_A_NUMBER = "unwrap-types"
"""The scenario with NaN and infinite doubles, which this project's JSON shows as null."""
FILES = sorted(path for path in DATA.glob("*/*/*.jsonl") if path.parent.name != NOT_A_NUMBER)


def serializer(*, schemas: bool) -> JsonSerializer:
    config, _ = JsonConfig.load({"schemas.enable": schemas}, "")
    return JsonSerializer(config)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(DATA)))
def test_messages_come_out_as_they_went_in(path: Path) -> None:
    """Keys and values, with their schemas or without, member by member in order."""
    decoder = EnvelopeDecoder(EnvelopeOptions(), Definitions(), None)
    plain, typed = serializer(schemas=False), serializer(schemas=True)
    for number, line in enumerate(path.read_bytes().splitlines()):
        recorded = orjson.loads(line)
        *_, record = decoder.decode(read_line(line, str(path), number))
        assert isinstance(record, Record)
        assert record.topic == recorded["topic"]
        for part in ("key", "value"):
            document = recorded[part]
            write = typed if _has_schema(document) else plain
            assert _shown(_written(write, record, part)) == _shown(document), f"{part} of line {number + 1}"


def _has_schema(document: Any) -> bool:
    return isinstance(document, dict) and document.keys() == {"schema", "payload"}


def _written(write: JsonSerializer, record: Record, part: str) -> Any:
    messages = write.serialize([record])
    text = messages.keys[0] if part == "key" else messages.values[0]
    return None if text is None else orjson.loads(text)


def _shown(document: Any) -> bytes:
    """The document as text, of rows without a schema only what is not null: nothing tells a null's type."""
    if not isinstance(document, dict) or _has_schema(document) or "op" not in document:
        return orjson.dumps(document)
    rows = {name: _known(row) for name, row in document.items() if name in {"before", "after"}}
    return orjson.dumps({**document, **rows})


def _known(row: Any) -> Any:
    return {name: value for name, value in row.items() if value is not None} if isinstance(row, dict) else row
