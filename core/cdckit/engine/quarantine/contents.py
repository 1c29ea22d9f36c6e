"""What is kept of a record, as JSON: it with its schemas, or, where it was bytes yet or already, these in base64."""

from __future__ import annotations

import base64
from typing import Any

import orjson

from cdckit.api.messages import Messages
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.undecoded import Undecoded
from cdckit.connector.connect_json.reader import JsonReader
from cdckit.connector.connect_json.schema import STORED
from cdckit.engine.quarantine.stored_facts import put_back, stored_facts
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import DecodeError, TransformError

RECORD, MESSAGE, TEXT, PIECE, WITHHELD = "record", "message", "text", "undecoded", "withheld"
"""What a content may be: a record as the source gave it, or as it was behind a transform; a message as the sink was
given it; what is shown of a record that cannot be read back; what the source could not decode; nothing, of what would
show what transforms conceal."""

_WHOLE = JsonSerializer(
    JsonConfig.model_validate({"schemas.enable": True, "replace.null.with.default": False, "header.format": "json"})
)
_PLAIN = JsonSerializer(JsonConfig.model_validate({"schemas.enable": False, "replace.null.with.default": False}))


def content_of(record: Record, behind: str = "") -> bytes:
    """The content of a record, with its schemas; a text where it does not fit them.

    Args:
        record: what is kept.
        behind: the transform behind which it was so; "": it is as the source gave it.
    """
    try:
        (key,), (value,), (headers,) = _WHOLE.keys([record]), _WHOLE.values([record]), _WHOLE.headers([record])
    except (TransformError, TypeError, ValueError):
        return orjson.dumps({"form": TEXT, "topic": record.topic, "text": repr(record)})
    return orjson.dumps(
        {
            "form": RECORD,
            "topic": record.topic,
            "partition": record.partition,
            "key": _fragment(key),
            "value": _fragment(value),
            "headers": [{"key": name, "value": _fragment(header)} for name, header in headers],
            "timestamp": record.timestamp,
            **({"behind": behind} if behind else {}),
            **({STORED: stored} if (stored := stored_facts(record)) else {}),
        }
    )


def content_withheld(topic: str, behind: str) -> bytes:
    """The content of what would show what the transform `behind` conceals."""
    return orjson.dumps({"form": WITHHELD, "topic": topic, "behind": behind})


def _fragment(text: bytes | None) -> orjson.Fragment | None:
    return None if text is None else orjson.Fragment(text)


def record_in(content: dict[str, Any], position: str, reader: JsonReader) -> Record:
    """The record that a content of the form `RECORD` holds.

    Raises:
        DecodeError: it cannot be read.
    """
    try:
        put_back(content, content.get(STORED, {}))
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        raise DecodeError(f"what is known of its columns does not fit its schemas: {error}") from error
    return reader.record(content).replace(position=position)


def content_of_message(message: Messages) -> bytes:
    """The content of one message."""
    return orjson.dumps(
        {
            "form": MESSAGE,
            "topic": message.topics[0],
            "partition": message.partitions[0],
            "key": _base64(message.keys[0]),
            "value": _base64(message.values[0]),
            "headers": [{"key": name, "value": _base64(header)} for name, header in message.headers[0]],
            "timestamp": message.timestamps[0],
        }
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def message_in(content: dict[str, Any], position: str) -> Messages:
    """The one message that a content of the form `MESSAGE` holds.

    Raises:
        DecodeError: it cannot be read.
    """
    try:
        headers = tuple((str(header["key"]), _bytes(header["value"])) for header in content["headers"])
        return Messages(
            [content["topic"]],
            [content["partition"]],
            [_bytes(content["key"])],
            [_bytes(content["value"])],
            [headers],
            [position],
            [content["timestamp"]],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DecodeError(f"it is no message: {error}") from error


def content_of_piece(piece: Undecoded) -> bytes:
    """The content of what a source could not decode."""
    raw = {name: _base64(data) for name, data in piece.raw.items()}
    return orjson.dumps({"form": PIECE, "topic": piece.topic, "raw": raw, "facts": dict(piece.facts)})


def piece_in(content: dict[str, Any], position: str, reason: str) -> Undecoded:
    """What a content of the form `PIECE` holds.

    Raises:
        DecodeError: it cannot be read.
    """
    try:
        raw = {str(name): _bytes(text) for name, text in content["raw"].items()}
        return Undecoded(position, content["topic"], reason, raw, content["facts"])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DecodeError(f"it is no event or message: {error}") from error


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)


def key_of(record: Record) -> str:
    """What is the same for the changes of one row, and for no others; "" for a record without a key."""
    if record.key is None or (isinstance(record.key, SchemaAndValue) and record.key.value is None):
        return ""
    try:
        (key,) = _PLAIN.keys([record])
    except (TransformError, TypeError, ValueError):
        return ""
    return f"{RECORD} {record.topic} {(key or b'').decode()}"


def key_of_message(topic: str, key: bytes | None) -> str:
    """The same of a message."""
    return "" if key is None else f"{MESSAGE} {topic} {base64.b64encode(key).decode()}"
