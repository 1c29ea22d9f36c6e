"""Texts that stand for a value of any type, as Kafka Connect's `Values.parseString` reads them.

`true`, numbers, dates, times and timestamps by ISO 8601, `[…]` and `{…}` of such values; everything else is a text.
Within lists and maps texts stand in quotes. A number has the smallest type that holds it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from cdckit import BOOLEAN, STRING, Schema, logical
from cdckit.connector.connect_json.decimals import bytes_of
from cdckit.java.date_format import DateFormat
from cdckit_transforms.java_numbers import decimal_of, float32, widened

_TOKEN = re.compile(r'[:,{}\[\]"]|(?:\\.?|[^:,{}\[\]"\\])+', re.DOTALL)
_MOMENTS = {
    10: (logical.CONNECT_DATE, DateFormat("yyyy-MM-dd"), 86_400_000),
    13: (logical.CONNECT_TIME, DateFormat("HH:mm:ss.SSS'Z'"), 1),
    24: (logical.CONNECT_TIMESTAMP, DateFormat("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"), 1),
}
"""By the texts' length, what they are, and the milliseconds in its unit."""
_NUMBERS = {kind: Schema(kind) for kind in ("int8", "int16", "int32", "int64", "float32", "float64")}
_RANK = {kind: rank for rank, kind in enumerate(_NUMBERS)}


class Literal(NamedTuple):
    """What a text stands for; null has no schema."""

    schema: Schema | None
    value: Any


NULL = Literal(None, None)


class _OtherwiseATextError(Exception):
    """What looked like a list, a map or a member of them is none."""


def parse_literal(text: str) -> Literal:
    """The value that a text stands for.

    Raises:
        ValueError: a list or map whose members have no common type.
    """
    return _Reader(text).value(embedded=False) if text else Literal(STRING, text)


class _Reader:
    """Reads one text, token by token.

    Attributes:
        tokens: delimiters, and what stands between them.
        at: the next one.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _TOKEN.findall(text)
        self.at = 0

    def value(self, *, embedded: bool) -> Literal:
        """The value that comes next; `embedded` in a list or map."""
        if self.at == len(self.tokens):
            return NULL
        if embedded and self._takes('"'):
            return self._quoted()
        for word, meant in _WORDS.items():
            if self._takes_word(word, embedded=embedded):
                return meant
        start = self.at
        try:
            if self._takes("["):
                return self._list()
            if self._takes("{"):
                return self._map()
        except _OtherwiseATextError:
            self.at = start
        token = self.tokens[self.at]
        self.at += 1
        return self._plain(token, embedded=embedded) if token.strip() else Literal(STRING, token)

    def _takes(self, wanted: str) -> bool:
        """Whether a delimiter or word comes next, which is passed then; blanks before it are passed in any case."""
        tokens = self.tokens
        while self.at + 1 < len(tokens) and not tokens[self.at].strip():
            self.at += 1
        if self.at == len(tokens) or tokens[self.at].strip() != wanted:
            return False
        self.at += 1
        return True

    def _takes_word(self, word: str, *, embedded: bool) -> bool:
        start = self.at
        if self._takes(word) and (embedded or self.at == len(self.tokens)):
            return True
        self.at = start
        return False

    def _plain(self, token: str, *, embedded: bool) -> Literal:
        token = token.strip()
        if token[0].isdecimal() and (moment := self._moment(token)):
            return moment
        if token[0].isdecimal() or token[0] in "+-":
            try:
                return _number(token)
            except ValueError:
                pass
        if embedded:
            raise _OtherwiseATextError
        return Literal(STRING, self.text)

    def _moment(self, token: str) -> Literal | None:
        """A time or timestamp, which is five tokens, since it has colons; or what is one token."""
        rest = self.tokens[self.at : self.at + 4]
        if len(rest) == 4 and (moment := _moment(token + "".join(rest))):
            self.at += 4
            return moment
        return _moment(token)

    def _quoted(self) -> Literal:
        content = ""
        while self.at < len(self.tokens) and not self._takes('"'):
            content += self.tokens[self.at]
            self.at += 1
        return _moment(content) or Literal(STRING, content)

    def _list(self) -> Literal:
        items: list[Literal] = []
        while self.at < len(self.tokens):
            if self._takes("]"):
                schema = _common(items, self.text)
                return Literal(Schema("array", items=schema), _aligned(items, schema))
            if self._takes(","):
                break
            items.append(self.value(embedded=True))
            here = self.at
            if self._takes("]"):
                self.at = here
            elif not self._takes(","):
                break
        raise _OtherwiseATextError

    def _map(self) -> Literal:
        names: list[Literal] = []
        items: list[Literal] = []
        while self.at < len(self.tokens):
            if self._takes("}"):
                keys, schema = _common(names, self.text), _common(items, self.text)
                pairs = zip(_aligned(names, keys), _aligned(items, schema), strict=True)
                return Literal(Schema("map", keys=keys, items=schema), dict(pairs))
            if self._takes(","):
                break
            names.append(self.value(embedded=True))
            if names[-1].value is None or not self._takes(":"):
                break
            items.append(self.value(embedded=True))
            self._takes(",")
        raise _OtherwiseATextError


_WORDS = {"null": NULL, "true": Literal(BOOLEAN, True), "false": Literal(BOOLEAN, False)}


def _moment(text: str) -> Literal | None:
    text = text.replace("\\:", ":")
    if len(text) not in _MOMENTS:
        return None
    schema, form, unit = _MOMENTS[len(text)]
    try:
        return Literal(schema, form.parse(text) // unit)
    except ValueError:
        return None


def _number(token: str) -> Literal:
    """A whole number of the smallest type, else a float, else a double, else a decimal."""
    decimal = decimal_of(token)
    if decimal == decimal.to_integral_value() and -(1 << 63) <= decimal < 1 << 63:
        whole = int(decimal)
        bits = next(bits for bits in (8, 16, 32, 64) if -(1 << bits - 1) <= whole < 1 << bits - 1)
        return Literal(_NUMBERS[f"int{bits}"], whole)
    scale = -_exponent(decimal)
    double = float(decimal)
    if scale and float32(double) - float32(double) == 0:
        return Literal(_NUMBERS["float32"], float32(double))
    if scale and double - double == 0:
        return Literal(_NUMBERS["float64"], double)
    return Literal(logical.decimal(scale), bytes_of(decimal, scale))


def _exponent(decimal: Decimal) -> int:
    exponent = decimal.as_tuple().exponent
    assert isinstance(exponent, int)
    return exponent


def _common(values: Sequence[Literal], text: str) -> Schema:
    """The type that holds all values of a list, or all keys or values of a map; a text where there are none.

    Raises:
        ValueError: there is none.
    """
    schemas = [value.schema for value in values if value.schema is not None]
    if not schemas:
        return STRING.as_optional()
    if all(schema.type in _RANK for schema in schemas):
        common = max(schemas, key=lambda schema: _RANK[schema.type])
    elif any(not schema.same_as(schemas[0]) for schema in schemas):
        raise ValueError(f"{text}: its members have no common type; a backslash before the bracket makes it a text")
    else:
        common = schemas[0]
    if len(schemas) < len(values):
        raise _OtherwiseATextError
    return common


def _aligned(values: Sequence[Literal], schema: Schema) -> list[Any]:
    if schema.type == "float32":
        return [float32(float(value.value)) for value in values]
    if schema.type == "float64":
        floats = (widened(v.value) if v.schema and v.schema.type == "float32" else v.value for v in values)
        return [float(value) for value in floats]
    return [value.value for value in values]
