"""Documents as texts of MongoDB's Extended JSON, character for character as Debezium's driver writes them.

Three dialects stand in events: `COMPACT` (legacy mode, in `before`, `after` and session ids), `SPACED` (relaxed mode,
in `updateDescription.updatedFields`) and `IDENTIFIER` (relaxed mode without spaces after commas, in keys). Sources:
MongoDB's "MongoDB Extended JSON (v2)" and "(v1)", and what is recorded of Debezium.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import partial
from json.encoder import encode_basestring
from typing import Any

import orjson
from bson import Binary, Code, DatetimeMS, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from bson.codec_options import TypeDecoder

from cdckit import DecodeError
from cdckit.java.text import escaped, java_double

Write = Callable[[Any], str]

_OPTIONS = orjson.OPT_INDENT_2 | orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATETIME
_LATEST_ISO_MS = 253402300799999
_LARGEST_MS = (2**63 - 1) // 1_000_000
"""More milliseconds have no 64 bits of nanoseconds."""
_EPOCH = datetime(1970, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)
_THIRD_LEVEL = b"\n      "
_DEEPER = re.compile(rb"\n {6,}")


class UnusualDouble(float):
    """A double that Java writes otherwise than Python: `DoubleDecoder` tells them apart as documents are decoded."""

    __slots__ = ()


class DoubleDecoder(TypeDecoder):
    """Leaves usual doubles as they are."""

    @property
    def bson_type(self) -> type[float]:
        """What it is asked about."""
        return float

    def transform_bson(self, value: float) -> float:
        """The double itself, or an `UnusualDouble`."""
        usual = 1e-3 <= value < 1e7 or value == 0 or -1e7 < value <= -1e-3
        return value if usual else UnusualDouble(value)


class _Writers(dict[type, Write]):
    """What writes a value, by its type."""

    def __missing__(self, kind: type) -> Write:
        raise DecodeError(f"a value of the type {kind.__name__} has no Extended JSON")


def _fragments(writers: Mapping[type, Write]) -> Callable[[Any], orjson.Fragment]:
    """What orjson asks for the texts of values that JSON has no types for."""
    fragment = orjson.Fragment
    return lambda value: fragment(writers[type(value)](value))


class Dialect:
    """Writes documents and values as `connection.CODEC` decodes them.

    Args:
        comma: what stands between two members.
        writers: what writes the scalar types, given the dialect.
    """

    def __init__(self, comma: str, writers: Callable[[Dialect], Mapping[type, Write]]) -> None:
        self.comma = comma
        self._line_end = f"{comma}\n".encode()
        self._writers = _Writers(_COMMON)
        self._writers.update({dict: self._container, list: self._container, Code: self._code, DBRef: self._reference})
        self._writers.update(writers(self))
        self._fragment = _fragments(self._writers)

    def value(self, value: Any) -> str:
        """Any value as its text.

        Raises:
            DecodeError: its type is none of BSON's.
        """
        return escaped(self._writers[type(value)](value))

    def document(self, document: dict[str, Any]) -> str:
        """A document as its text.

        Raises:
            DecodeError: it holds a value whose type is none of BSON's.
        """
        return escaped(self._container(document))

    def _container(self, container: dict[str, Any] | list[Any]) -> str:
        """A document or an array: orjson's indented text without the indentation has the spaces that are wanted."""
        try:
            text = orjson.dumps(container, self._fragment, _OPTIONS)
        except orjson.JSONEncodeError as error:
            raise DecodeError(str(error.__cause__ or error)) from error
        if self.comma != ",":
            text = text.replace(b",\n", self._line_end)
        if _THIRD_LEVEL in text:
            text = _DEEPER.sub(b"", text)
        return text.replace(b"\n    ", b"").replace(b"\n  ", b"").replace(b"\n", b"").decode()

    def _code(self, code: Code) -> str:
        members: dict[str, Any] = {"$code": str(code)}
        if code.scope is not None:
            members["$scope"] = dict(code.scope)
        return self._container(members)

    def _reference(self, reference: DBRef) -> str:
        return self._container(dict(reference.as_doc()))


def _timestamp(comma: str, value: Timestamp) -> str:
    return f'{{"$timestamp": {{"t": {value.time}{comma}"i": {value.inc}}}}}'


def _options(regex: Regex[Any]) -> str:
    flags = ((re.I, "i"), (re.L, "l"), (re.M, "m"), (re.S, "s"), (re.U, "u"), (re.X, "x"))
    return "".join(letter for flag, letter in flags if regex.flags & flag)


def _pattern(regex: Regex[Any]) -> str:
    return regex.pattern if isinstance(regex.pattern, str) else regex.pattern.decode("utf-8", "replace")


_COMMON: Mapping[type, Write] = {
    str: encode_basestring,
    int: repr,
    bool: {True: "true", False: "false"}.__getitem__,
    type(None): lambda _: "null",
    ObjectId: lambda value: f'{{"$oid": "{value.binary.hex()}"}}',
    Decimal128: lambda value: f'{{"$numberDecimal": "{value}"}}',
    MinKey: lambda _: '{"$minKey": 1}',
    MaxKey: lambda _: '{"$maxKey": 1}',
}


def _legacy(dialect: Dialect, power: str = "E+") -> Mapping[type, Write]:
    comma = dialect.comma

    def binary(value: bytes, kind: int = 0) -> str:
        return f'{{"$binary": "{b64encode(value).decode()}"{comma}"$type": "{kind:02X}"}}'

    def regex(value: Regex[Any]) -> str:
        return f'{{"$regex": {encode_basestring(_pattern(value))}{comma}"$options": "{_options(value)}"}}'

    return {
        float: partial(java_double, power=power),
        UnusualDouble: partial(java_double, power=power),
        Int64: lambda value: f'{{"$numberLong": "{value:d}"}}',
        DatetimeMS: lambda value: f'{{"$date": {int(value)}}}',
        datetime: lambda value: f'{{"$date": {(value - _EPOCH) // _MILLISECOND}}}',
        Timestamp: partial(_timestamp, comma),
        bytes: binary,
        Binary: lambda value: binary(value, value.subtype),
        Regex: regex,
    }


def _relaxed(dialect: Dialect, power: str = "E+") -> Mapping[type, Write]:
    comma = dialect.comma

    def binary(value: bytes, kind: int = 0) -> str:
        return f'{{"$binary": {{"base64": "{b64encode(value).decode()}"{comma}"subType": "{kind:02X}"}}}}'

    def regex(value: Regex[Any]) -> str:
        pattern = encode_basestring(_pattern(value))
        return f'{{"$regularExpression": {{"pattern": {pattern}{comma}"options": "{_options(value)}"}}}}'

    def double(value: float) -> str:
        text = java_double(value, power)
        return text if value - value == 0 else f'{{"$numberDouble": "{text}"}}'

    return {
        float: double,
        UnusualDouble: double,
        Int64: int.__repr__,
        DatetimeMS: lambda value: _iso_date(int(value)),
        datetime: lambda value: _iso_date(milliseconds_of(value)),
        Timestamp: partial(_timestamp, comma),
        bytes: binary,
        Binary: lambda value: binary(value, value.subtype),
        Regex: regex,
    }


def milliseconds_of(value: datetime | DatetimeMS) -> int:
    """A date as milliseconds since 1970; those of no Python date come as `DatetimeMS`."""
    return (value - _EPOCH) // _MILLISECOND if isinstance(value, datetime) else int(value)


def wall_time_ms(value: datetime | DatetimeMS) -> int:
    """When a server made a change, in milliseconds since 1970.

    Raises:
        ValueError: events cannot tell it in nanoseconds, so it is no server's.
    """
    milliseconds = milliseconds_of(value)
    if abs(milliseconds) > _LARGEST_MS:
        raise ValueError(f"its wallTime, {milliseconds} ms, is beyond 64 bits in nanoseconds")
    return milliseconds


def _iso_date(milliseconds: int) -> str:
    """ISO 8601 for the years 1970 to 9999, with as many digits of a second as needed."""
    if not 0 <= milliseconds <= _LATEST_ISO_MS:
        return f'{{"$date": {{"$numberLong": "{milliseconds}"}}}}'
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    fraction = f".{milliseconds % 1000:03d}".rstrip("0").rstrip(".")
    return f'{{"$date": "{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"}}'


COMPACT = Dialect(",", _legacy)
SPACED = Dialect(", ", _relaxed)
IDENTIFIER = Dialect(",", _relaxed)

OLD_COMPACT = Dialect(",", partial(_legacy, power="E"))
"""The three dialects of Debezium 1.9 differ in how a large double is written."""
OLD_SPACED = Dialect(", ", partial(_relaxed, power="E"))
OLD_IDENTIFIER = Dialect(",", partial(_relaxed, power="E"))
