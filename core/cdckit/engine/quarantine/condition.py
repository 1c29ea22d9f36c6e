"""Which records in quarantine an expression means."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from cdckit.api.plugins import config_model, find, make
from cdckit.api.record import Datum, Record, SchemaAndValue
from cdckit.api.schema import INT64, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.api.transform import Transform
from cdckit.connector.connect_json.reader import JsonReader
from cdckit.engine.quarantine.contents import MESSAGE, PIECE, RECORD, message_in, piece_in, record_in
from cdckit.engine.quarantine.store import Quarantined
from cdckit.errors import ConfigError, DecodeError, TransformError

_FACTS = struct_schema(
    "cdckit.Quarantined",
    {
        "number": INT64,
        "kept": STRING,
        "stage": STRING,
        "by": STRING,
        "topic": STRING,
        "position": STRING,
        "reason": STRING,
    },
)


def condition(expression: str) -> Callable[[Quarantined], bool]:
    """Tells whether an expression of the transform `ScriptFilter`, in Groovy, is true for a record in quarantine.

    Its `value` has what `cdc quarantine list` shows of the record, its `key` is the record's own.

    Raises:
        ConfigError: it is no such expression; and, when asked, it cannot be evaluated for a record.
    """
    keep = _filter(expression)
    reader = JsonReader()

    def meant(record: Quarantined) -> bool:
        try:
            return keep.apply(Record(record.topic, _key(record, reader), _facts(record))) is not None
        except TransformError as error:
            raise ConfigError(f"--where: record {record.number}: {error}", number="CDC2507") from error

    return meant


def kept_text(record: Quarantined) -> str:
    """When a record was first kept, as people read it, in UTC."""
    return datetime.fromtimestamp(record.kept, UTC).isoformat(timespec="seconds")


def _filter(expression: str) -> Transform:
    registration = find("transform", "ScriptFilter")
    options = {"language": "groovy", "condition": expression, "null.handling.mode": "evaluate"}
    config, _ = config_model(registration).load(options, "--where")
    made: Transform = make(registration, config)
    return made


def _facts(record: Quarantined) -> Struct:
    values = record.number, kept_text(record), record.stage, record.by, record.topic, record.position, record.reason
    return Struct(_FACTS, values)


def _key(record: Quarantined, reader: JsonReader) -> Datum | None:
    """The record's key; a message's as a text. Null where there is none, or it is no text."""
    content: dict[str, Any] = json.loads(record.content)
    raw: bytes | None = None
    with suppress(DecodeError):
        if content["form"] == RECORD:
            return record_in(content, record.position, reader).key
        if content["form"] == MESSAGE:
            raw = message_in(content, record.position).keys[0]
        elif content["form"] == PIECE:
            raw = piece_in(content, record.position, record.reason).raw.get("key")
    if raw is None:
        return None
    try:
        return SchemaAndValue(STRING, raw.decode())
    except UnicodeDecodeError:
        return None
