"""Everything that a record says, to compare records by."""

from __future__ import annotations

from typing import Any

import orjson

from cdckit.api.record import Record
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

_SERIALIZER = JsonSerializer(JsonConfig.model_validate({"schemas.enable": True, "replace.null.with.default": False}))


def written(record: Record) -> dict[str, Any]:
    """Everything that a record says, schemas included."""
    messages = _SERIALIZER.serialize([record])
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "position": record.position,
        "headers": [(name, text and orjson.loads(text)) for name, text in messages.headers[0]],
        "key": messages.keys[0] and orjson.loads(messages.keys[0]),
        "value": messages.values[0] and orjson.loads(messages.values[0]),
    }
