"""Reads what Kafka Connect's JsonConverter wrote: keys, values, headers and whole records, back into the data model.

With schemas a document is `{"schema": …, "payload": …}` and becomes a struct, its values in the schema's primitive
types. Without them it stays what it is: dicts, lists, texts and numbers.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, get_args

import orjson

from cdckit import logical
from cdckit.api.record import POSITION_HEADER, Datum, Header, Record, SchemaAndValue
from cdckit.api.schema import Field, Schema, Stored, Type
from cdckit.api.struct import Struct
from cdckit.connector.connect_json.decimals import bytes_of
from cdckit.connector.connect_json.schema import STORED, TYPE_NAMES
from cdckit.errors import DecodeError

Read = Callable[[Any], Any]

_TYPES: dict[str, Type] = {TYPE_NAMES.get(name, name): name for name in get_args(Type)}
_READ = "json.read"


class JsonReader:
    """Reads documents; schemas that are written alike become one schema."""

    def __init__(self) -> None:
        self._schemas: dict[bytes, Schema] = {}

    def datum(self, document: Any) -> Datum | None:
        """A key or value; None where there is none.

        Raises:
            DecodeError: the schema is none, or the payload does not fit it; the message names the field.
        """
        if document is None:
            return None
        if not _has_schema(document):
            return SchemaAndValue(None, document)
        schema, payload = self._typed(document)
        if isinstance(payload, Struct):
            return payload
        return None if schema is None and payload is None else SchemaAndValue(schema, payload)

    def header(self, key: str, document: Any) -> Header:
        """One header.

        Raises:
            DecodeError: as for `datum`.
        """
        if not _has_schema(document):
            return Header(key, document, None)
        schema, payload = self._typed(document)
        return Header(key, payload, schema)

    def record(self, line: Mapping[str, Any]) -> Record:
        """A record as the file sink writes it: `{"topic","partition","key","value","headers","timestamp"}`.

        Only the topic must be there.

        Raises:
            DecodeError: no topic, or a part that cannot be read; the message names the part.
        """
        topic = line.get("topic") if isinstance(line, Mapping) else None
        if not isinstance(topic, str):
            raise DecodeError("an event is a JSON object with a 'topic', a text")
        headers = _located("headers", _header_pairs, line.get("headers") or ())
        return Record(
            topic,
            _located("key", self.datum, line.get("key")),
            _located("value", self.datum, line.get("value")),
            tuple(self.header(key, value) for key, value in headers if key != POSITION_HEADER),
            next((str(self.header(key, value).value) for key, value in headers if key == POSITION_HEADER), ""),
            line.get("timestamp"),
            line.get("partition"),
        )

    def _typed(self, document: Mapping[str, Any]) -> tuple[Schema | None, Any]:
        if document["schema"] is None:
            return None, document["payload"]
        schema = self._schema(document["schema"])
        if document["payload"] is None:
            return schema, None
        return schema, _located("", value_reader(schema), document["payload"])

    def _schema(self, written: Mapping[str, Any]) -> Schema:
        text = orjson.dumps(written)
        known = self._schemas.get(text)
        if known is None:
            known = self._schemas[text] = _located("schema", schema_from_json, written)
        return known


def read_records(lines: Iterable[bytes | str], reader: JsonReader | None = None) -> Iterator[Record]:
    """The records of JSON lines; empty lines are passed over.

    Raises:
        DecodeError: a line cannot be read; the message names the line, counted from 1.
    """
    reader = reader or JsonReader()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield reader.record(orjson.loads(line))
        except (orjson.JSONDecodeError, DecodeError) as error:
            raise DecodeError(f"line {number}: {error}") from error


def schema_from_json(written: Mapping[str, Any]) -> Schema:
    """The schema that `cdckit.connector.connect_json.schema.schema_to_json` wrote.

    Raises:
        KeyError: a type that does not exist, or a member that must be there is missing.
    """
    kind = _TYPES[written["type"]]
    fields = [(member["field"], schema_from_json(member)) for member in written.get("fields") or ()]
    items = written.get("items") or written.get("values")
    schema = Schema(
        kind,
        optional=bool(written.get("optional", False)),
        name=written.get("name"),
        version=written.get("version"),
        doc=written.get("doc"),
        parameters=written.get("parameters"),
        fields=tuple(Field(name, index, member) for index, (name, member) in enumerate(fields)),
        keys=schema_from_json(written["keys"]) if kind == "map" else None,
        items=schema_from_json(items) if items else None,
        stored=Stored(**written[STORED]) if STORED in written else None,
    )
    if written.get("default") is None:
        return schema
    return schema.replace(default=value_reader(schema)(written["default"]))


def _header_pairs(headers: Iterable[Mapping[str, Any]]) -> list[tuple[str, Any]]:
    return [(header["key"], header.get("value")) for header in headers]


def _has_schema(document: Any) -> bool:
    return isinstance(document, dict) and document.keys() == {"schema", "payload"}


def _located(where: str, read: Read, document: Any) -> Any:
    """Reads, and tells what is wrong with the place where it is wrong."""
    try:
        return read(document)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DecodeError(f"{where or 'payload'}: {_fault(error)}") from error
    except DecodeError as error:
        raise DecodeError(f"{where}: {error}" if where else str(error)) from error


def _fault(error: Exception) -> str:
    return f"{error} is missing or unknown" if isinstance(error, KeyError) else str(error)


def value_reader(schema: Schema) -> Read:
    """The function that reads a value of a schema that is not null, made once for each schema.

    It raises `DecodeError`, `ValueError`, `TypeError` or `AttributeError` where the value does not fit.
    """
    made: Read | None = schema.derived.get(_READ)
    if made is None:
        made = schema.derived[_READ] = _make_reader(schema)
    return made


def _make_reader(schema: Schema) -> Read:
    if schema.type == "struct":
        return _struct_reader(schema)
    if schema.items is not None:
        return _array_reader(schema.items) if schema.keys is None else _map_reader(schema.keys, schema.items)
    if schema.name == logical.DECIMAL_NAME:
        return _decimal_reader(int((schema.parameters or {}).get("scale", 0)))
    return _PRIMITIVES[schema.type]


def _nullable(schema: Schema) -> Read:
    """The function for a value that may be null."""
    read = value_reader(schema)
    instead = None if schema.optional else schema.default

    def read_or_null(document: Any) -> Any:
        if document is not None:
            return read(document)
        if instead is None and not schema.optional:
            raise ValueError("is null, which the schema does not allow")
        return instead

    return read_or_null


def _struct_reader(schema: Schema) -> Read:
    members = [(member.name, _nullable(member.schema)) for member in schema.fields]

    def read_struct(document: Any) -> Struct:
        if not isinstance(document, dict):
            raise TypeError("is no JSON object")
        values = []
        for name, read in members:
            try:
                values.append(read(document.get(name)))
            except (ValueError, TypeError) as error:
                raise DecodeError(f"{name}: {error}") from error
            except DecodeError as error:
                raise DecodeError(f"{name}.{error}") from error
        return Struct(schema, tuple(values))

    return read_struct


def _array_reader(items: Schema) -> Read:
    read = _nullable(items)

    def read_array(document: Any) -> list[Any]:
        if not isinstance(document, list):
            raise TypeError("is no JSON array")
        return [read(item) for item in document]

    return read_array


def _map_reader(keys: Schema, items: Schema) -> Read:
    """A map whose keys are texts is an object; any other is an array of pairs."""
    read_key, read = _nullable(keys), _nullable(items)

    def read_map(document: Any) -> dict[Any, Any]:
        pairs = document.items() if keys.type == "string" else document
        return {read_key(key): read(item) for key, item in pairs}

    return read_map


def _decimal_reader(scale: int) -> Read:
    """Base64 of the unscaled integer, or a number (`decimal.format=NUMERIC`)."""

    def read_decimal(document: Any) -> bytes:
        if isinstance(document, str):
            return _bytes(document)
        return bytes_of(Decimal(str(document)), scale)

    return read_decimal


def _integer(document: Any) -> int:
    if document.__class__ is not int:
        raise TypeError(f"is {document!r}, no integer")
    return int(document)


def _float(document: Any) -> float:
    if isinstance(document, bool):
        raise TypeError(f"is {document!r}, no number")
    return float(document)


def _boolean(document: Any) -> bool:
    if document.__class__ is not bool:
        raise TypeError(f"is {document!r}, no boolean")
    return bool(document)


def _string(document: Any) -> str:
    if document.__class__ is not str:
        raise TypeError(f"is {document!r}, no text")
    return str(document)


def _bytes(document: Any) -> bytes:
    try:
        return base64.b64decode(document, validate=True)
    except (binascii.Error, TypeError) as error:
        raise ValueError(f"is no base64: {error}") from error


_PRIMITIVES: dict[str, Read] = {
    "int8": _integer,
    "int16": _integer,
    "int32": _integer,
    "int64": _integer,
    "float32": _float,
    "float64": _float,
    "boolean": _boolean,
    "string": _string,
    "bytes": _bytes,
}
