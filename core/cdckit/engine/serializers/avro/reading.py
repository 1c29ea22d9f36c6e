"""Avro's bytes read back, as what the JSON serializer would have written of the same values."""

from __future__ import annotations

import io
import struct
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import fastavro
import orjson

_BODY = 5
"""A zero, and four bytes of the schema's id."""
_FLOAT = struct.Struct("<f")
_DIGITS = range(6, 10)
"""How many digits tell a float of 32 bits from all others: 9 at the most."""

Plain = Callable[[Any], Any]


class AvroReader:
    """Reads keys and values.

    Args:
        text: gives the text of a schema, of its id and a subject.
    """

    def __init__(self, text: Callable[[int, str], str]) -> None:
        self._text = text
        self._known: dict[int, tuple[Any, Plain]] = {}

    def read(self, subject: str, data: bytes) -> Any:
        """What JSON would say.

        Raises:
            ValueError: it is nothing that the Avro serializer has written.
            SinkError: the registry does not have its schema, or cannot be reached.
        """
        if len(data) < _BODY or data[0]:
            raise ValueError("it does not begin with the id of a schema")
        number = int.from_bytes(data[1:_BODY])
        if number not in self._known:
            self._known[number] = _made(orjson.loads(self._text(number, subject)))
        parsed, plain = self._known[number]
        body = io.BytesIO(data)
        body.seek(_BODY)
        try:
            return plain(fastavro.schemaless_reader(body, parsed, None, return_record_name=True))
        except (EOFError, IndexError, struct.error, UnicodeDecodeError) as error:
            raise ValueError(f"it is no value of the schema {number}: {error}") from error


def _made(written: Any) -> tuple[Any, Plain]:
    """The schema as it is read by, without logical types, and what makes its values those of JSON."""
    bare = _bare(written)
    return fastavro.parse_schema(bare), _plain(bare, {})


def _bare(written: Any) -> Any:
    if isinstance(written, list):
        return [_bare(one) for one in written]
    if not isinstance(written, dict):
        return written
    return {name: _bare(inner) if name in _INNER else inner for name, inner in written.items() if name in _KEPT}


_INNER = frozenset({"type", "items", "values", "fields"})
_KEPT = _INNER | {"name", "namespace", "size", "symbols"}


def _plain(written: Any, named: dict[str, Plain]) -> Plain:
    """What makes a value of a schema one of JSON."""
    if isinstance(written, list):
        return _of_union(written, named)
    if isinstance(written, str):
        return named[written] if written in named else _PRIMITIVE.get(written, _same)
    kind = written["type"]
    if kind == "record":
        return _of_record(written, named)
    if kind == "array":
        items = _plain(written["items"], named)
        return lambda value: [items(one) for one in value]
    if kind == "map":
        values = _plain(written["values"], named)
        return lambda value: {name: values(one) for name, one in value.items()}
    return _plain(kind, named) if isinstance(kind, list | dict) else _PRIMITIVE.get(kind, _same)


def _of_record(written: Mapping[str, Any], named: dict[str, Plain]) -> Plain:
    members: dict[str, Plain] = {}

    def made(value: Any) -> Any:
        return {name: member(value[name]) for name, member in members.items()}

    for name in {written["name"], f"{written.get('namespace', '')}.{written['name']}"}:
        named[name] = made
    members.update({field["name"]: _plain(field["type"], named) for field in written["fields"]})
    return made


def _of_union(written: list[Any], named: dict[str, Plain]) -> Plain:
    """Connect's unions are of null and one type more."""
    (plain,) = [_plain(one, named) for one in written if one != "null"]

    def made(value: Any) -> Any:
        return None if value is None else plain(value[1] if isinstance(value, tuple) else value)

    return made


def _same(value: Any) -> Any:
    return value


def _base64(value: bytes) -> str:
    return b64encode(value).decode()


def _shortest(value: float) -> float:
    """A float of 32 bits with no more digits than it has."""
    for digits in _DIGITS:
        found = float(f"{value:.{digits}g}")
        if _FLOAT.pack(found) == _FLOAT.pack(value):
            return found
    return value


_PRIMITIVE: Mapping[str, Plain] = {"bytes": _base64, "float": _shortest}
