"""Documents as texts of MongoDB's Extended JSON, character for character as Debezium's driver writes them.

Three dialects stand in events: `COMPACT` (legacy mode, in `before`, `after` and session ids), `SPACED` (relaxed mode,
in `updateDescription.updatedFields`) and `IDENTIFIER` (relaxed mode without spaces after commas, in keys). Sources:
MongoDB's "MongoDB Extended JSON (v2)" and "(v1)", and what is recorded of Debezium.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache, partial
from json.encoder import encode_basestring
from typing import Any

from bson import Binary, Code, DatetimeMS, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp

from cdckit.errors import DecodeError

Write = Callable[[Any], str]
Shape = tuple[Any, ...]
"""The names of a document's fields, and the types of their values."""

_SHAPES_KEPT = 4096
_FREQUENT = 50
_LATEST_ISO_MS = 253402300799999
_EPOCH = datetime(1970, 1, 1)
_ESCAPED_CATEGORIES = frozenset({"Lm", "Mn", "Me", "Mc", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn"})


class _Shapes(dict[tuple[str, ...], str]):
    """The text around the values of a document, by the names of its fields."""

    def __init__(self, comma: str) -> None:
        super().__init__()
        self._comma = comma

    def __missing__(self, names: tuple[str, ...]) -> str:
        if len(self) >= _SHAPES_KEPT:
            self.clear()
        members = (f"{encode_basestring(name)}: ".replace("%", "%%") + "%s" for name in names)
        made = self[names] = "{" + self._comma.join(members) + "}"
        return made


class _Writers(dict[type, Write]):
    """What writes a value, by its type."""

    def __missing__(self, kind: type) -> Write:
        raise DecodeError(f"a value of the type {kind.__name__} has no Extended JSON")


class Dialect:
    """Writes documents and values.

    Args:
        comma: what stands between two members.
        writers: what writes the scalar types, given the dialect.
    """

    def __init__(self, comma: str, writers: Callable[[Dialect], Mapping[type, Write]]) -> None:
        self.comma = comma
        self._shapes = _Shapes(comma)
        self._seen: Counter[Shape] = Counter()
        self._compiled: dict[Shape, Callable[..., str]] = {}
        self._writers = _Writers(_COMMON)
        self._writers.update({dict: self._document, list: self._array, Code: self._code, DBRef: self._reference})
        self._writers.update(writers(self))

    def value(self, value: Any) -> str:
        """Any value as its text.

        Raises:
            DecodeError: its type is none of BSON's.
        """
        return _escaped_in(self._writers[type(value)](value))

    def document(self, document: dict[str, Any]) -> str:
        """A document as its text.

        Raises:
            DecodeError: it holds a value whose type is none of BSON's.
        """
        return _escaped_in(self._document(document))

    def _document(self, document: dict[str, Any]) -> str:
        values = document.values()
        shape = (*document, *map(type, values))
        compiled = self._compiled.get(shape)
        if compiled is not None:
            return compiled(*values)
        if self._is_frequent(shape):
            self._compiled[shape] = self._compile(document)
        writers = self._writers
        return self._shapes[tuple(document)] % tuple([writers[type(value)](value) for value in values])

    def _is_frequent(self, shape: Shape) -> bool:
        """Counts the documents of a shape: compiling pays for those that many have."""
        if len(self._seen) >= _SHAPES_KEPT:
            self._seen.clear()
            self._compiled.clear()
        self._seen[shape] += 1
        return self._seen[shape] == _FREQUENT

    def _compile(self, document: dict[str, Any]) -> Callable[..., str]:
        """The function that writes documents with these fields, of these types, given their values."""
        scope: dict[str, Any] = {}
        parts = []
        for at, (name, value) in enumerate(document.items()):
            literal = f"{encode_basestring(name)}: ".replace("{", "{{").replace("}", "}}")
            parts.append(repr(literal)[1:-1] + self._placeholder(type(value), f"v{at}", scope))
        text = "{{" + self.comma.join(parts) + "}}"
        arguments = ", ".join(f"v{at}" for at in range(len(document)))
        function: Callable[..., str] = eval(f"lambda {arguments}: f'{text}'", scope)  # noqa: S307 - names are quoted
        return function

    def _placeholder(self, kind: type, name: str, scope: dict[str, Any]) -> str:
        """What stands for a value in a format string."""
        if kind is int:
            return f"{{{name}}}"
        if kind is type(None):
            return "null"
        writer = f"w_{name}"
        scope[writer] = self._writers[kind]
        return f"{{{writer}({name})}}"

    def _array(self, items: list[Any]) -> str:
        writers = self._writers
        return f"[{self.comma.join([writers[type(item)](item) for item in items])}]"

    def _code(self, code: Code) -> str:
        members: dict[str, Any] = {"$code": str(code)}
        if code.scope is not None:
            members["$scope"] = dict(code.scope)
        return self._document(members)

    def _reference(self, reference: DBRef) -> str:
        return self._document(dict(reference.as_doc()))


def _escaped_in(made: str) -> str:
    """A text whose characters that are neither letter, digit, punctuation nor symbol are escaped.

    Such characters stand in strings alone: once for a whole document costs less than string by string.
    """
    if made.isascii():
        return made if "\x7f" not in made else made.replace("\x7f", "\\u007f")
    return _unusual().sub(_escaped, made)


@cache
def _unusual() -> re.Pattern[str]:
    """Matches what a string must not show as it is, beyond what JSON itself forbids."""
    ranges: list[list[int]] = []
    for code in range(0x7F, 0x10000):
        if unicodedata.category(chr(code)) in _ESCAPED_CATEGORIES:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    return re.compile("[" + "".join(f"\\u{a:04x}-\\u{b:04x}" for a, b in ranges) + "\U00010000-\U0010ffff]")


def _escaped(found: re.Match[str]) -> str:
    """A character by its UTF-16 units."""
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def java_double(value: float, power: str = "E+") -> str:
    """A number as Java's `Double.toString` writes it.

    Args:
        value: the number.
        power: what stands before a positive exponent: the driver of Debezium 3 puts `E+`, Java itself `E`.
    """
    if 1e-3 <= value < 1e7 or value == 0 or -1e7 < value <= -1e-3:
        return repr(value)
    if value - value != 0:
        return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(value)]
    number = Decimal(repr(value)).normalize()
    if len(number.as_tuple().digits) == 1 and float(two := f"{value:.1e}") == value:
        number = Decimal(two)  # Java writes two digits at least: of those, the nearest
    digits = "".join(map(str, number.as_tuple().digits))
    exponent = number.adjusted()
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}{power if exponent > 0 else 'E'}{exponent}"


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
        Int64: lambda value: f'{{"$numberLong": "{value:d}"}}',
        DatetimeMS: lambda value: f'{{"$date": {int(value)}}}',
        datetime: lambda value: f'{{"$date": {milliseconds_of(value)}}}',
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
    if isinstance(value, DatetimeMS):
        return int(value)
    since = value - _EPOCH
    return since.days * 86_400_000 + since.seconds * 1000 + since.microseconds // 1000


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
