"""Documents of Kafka's JSON converter, `{"schema": …, "payload": …}`, taken apart without parsing the schema."""

from __future__ import annotations

from typing import Any

import orjson

_PAYLOAD_FIRST, _SCHEMA_NEXT = b'{"payload":', b',"schema":{'
_NAME_END = b'":'
_NAMES_OF_ONE = 2
"""How many names `{"payload":{"id":1}}` has."""
_SCHEMA_FIRST, _PAYLOAD_NEXT = b'{"schema":{', b'},"payload":'


Document = tuple[bytes | None, Any]
"""The schema's text, the same bytes for the same schema of one producer, or None without a schema; and the payload."""


def read_document(text: bytes) -> Document:
    """Takes a document apart; one without `payload` is its own payload.

    Raises:
        ValueError: it is no JSON.
    """
    if text.startswith(_PAYLOAD_FIRST):
        at = text.rfind(_SCHEMA_NEXT)
        schema, payload = (text[at + 10 : -1], text[11:at]) if at > 0 else (None, text[11:-1])
    elif text.startswith(_SCHEMA_FIRST):
        at = text.find(_PAYLOAD_NEXT)
        schema, payload = text[10 : at + 1], text[at + 12 : -1]
    else:
        return _parsed(text)
    try:
        return schema, orjson.loads(payload)
    except orjson.JSONDecodeError:
        return _parsed(text)


class KeyNames:
    """The names of keys' members; a key with one member, in a document without schema, is known by how it begins."""

    def __init__(self) -> None:
        self._known: dict[bytes, tuple[str, ...]] = {}

    def of(self, text: bytes) -> tuple[str, ...]:
        """The names in the document's payload.

        Raises:
            ValueError: it is no JSON.
        """
        if text.count(_NAME_END) != _NAMES_OF_ONE or not text.endswith(b"}}"):
            return _names(text)
        beginning = text[: text.rindex(_NAME_END)]
        found = self._known.get(beginning)
        if found is None:
            found = self._known[beginning] = _names(text)
        return found


def _names(text: bytes) -> tuple[str, ...]:
    return tuple(orjson.loads(text)["payload"] or ())


def _parsed(text: bytes) -> Document:
    """Any other way of writing it: other order, spaces, no schema around it."""
    found = orjson.loads(text)
    if not isinstance(found, dict) or "payload" not in found or not found.keys() <= {"schema", "payload"}:
        return None, found
    schema = found.get("schema")
    return None if schema is None else orjson.dumps(schema), found["payload"]
