"""Headers as Connect's converters write them: JSON with or without a schema, or SimpleHeaderConverter's plain text."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import orjson

from cdckit import POSITION_HEADER, STRING, Datum, DecodeError, Header, Struct
from cdckit.connector.connect_json.reader import schema_from_json, value_reader
from cdckit.connector.envelope import NEW_KEY, OLD_KEY
from cdckit_ticdc.message import RawHeaders

_KEYS = frozenset({NEW_KEY, OLD_KEY})


def read_headers(raw: RawHeaders, key: Datum | None) -> tuple[tuple[Header, ...], str]:
    """The headers, but for the position, which comes apart; "" where there is none.

    Args:
        raw: as they came.
        key: the message's, of whose types a header is that holds the row's other key and came without a schema.
    """
    made, position = [], ""
    for name, value in raw:
        text = None if value is None else value.decode(errors="replace")
        header = _header(name, text)
        if name == POSITION_HEADER:
            position = header.value if isinstance(header.value, str) else text or ""
        elif name in _KEYS and isinstance(key, Struct) and isinstance(header.value, dict):
            made.append(_typed(header, text or "", key))
        else:
            made.append(header)
    return tuple(made), position


def _header(name: str, text: str | None) -> Header:
    """A header out of its text, which is a JSON document or stands for itself."""
    if text is None or text[:1] not in {"{", '"'}:
        return Header(name, text)
    try:
        document = _parsed(text)
    except (ValueError, RecursionError):
        return Header(name, text)
    if not isinstance(document, dict) or document.keys() != {"schema", "payload"} or document["schema"] is None:
        return Header(name, document, STRING if isinstance(document, str) else None)
    schema, payload = schema_from_json(document["schema"]), document["payload"]
    return Header(name, None if payload is None else value_reader(schema)(payload), schema)


def _parsed(text: str) -> Any:
    """The document; plain text may have control characters in its strings, as they are."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text, strict=False)


def _typed(header: Header, text: str, key: Struct) -> Header:
    """A key with the types of another one of the same table; as it came where it is none of these."""
    try:
        document = json.loads(text, strict=False, parse_float=Decimal)
        if document.keys() != key.schema.index.keys():
            return header
        return Header(header.key, value_reader(key.schema)(document), key.schema)
    except (DecodeError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return header
