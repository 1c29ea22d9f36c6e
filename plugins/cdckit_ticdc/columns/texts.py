"""Columns of the protocols that write values as MySQL prints them: canal-json, open-protocol, simple, avro, csv."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson

from cdckit import STRING, Schema
from cdckit_ticdc.columns import numbers, temporal
from cdckit_ticdc.columns.column import Column, Read
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.schemas import schema_of
from cdckit_ticdc.columns.types import BINARY, INTEGERS, TEXT, MySqlType
from cdckit_ticdc.definitions import Definition

_TEXT_TYPES = TEXT | {"json"}


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Forms:
    """How a protocol writes values.

    Attributes:
        binary: reads the bytes of BINARY, VARBINARY and BLOB.
        labels: whether ENUM and SET are written as their labels, or as numbers.
        text: reads a text of a type, where it is not written as it is.
        bit: reads the number of a BIT.
        located: whether a TIMESTAMP is written with its time zone.
    """

    binary: Callable[[Any], bytes]
    labels: Literal["labels", "numbers"] = "numbers"
    text: Callable[[MySqlType], Read | None] = lambda _type: None
    bit: Callable[[Any], Any] = _same
    located: bool = False


class TextColumns:
    """Makes the columns of one protocol."""

    def __init__(self, options: ColumnOptions, forms: Forms) -> None:
        self._options = options
        self._forms = forms

    def column(self, table: tuple[str, str], name: str, type: MySqlType, *, optional: bool) -> Column:
        """A column whose type the message tells as `type`.

        Raises:
            ValueError: the type does not exist.
        """
        type = self._options.given_type(*table, name) or type
        schema = schema_of(type, self._options)
        if type.labels is None and type.name in {"enum", "set"} and self._forms.labels == "labels":
            schema = STRING
        if optional:
            schema = schema.as_optional()
        return Column(name, schema, self._reader(type, schema))

    def of_table(self, definition: Definition) -> tuple[list[Column], Sequence[str]]:
        """The columns of a table's definition, and the names of its key's; raises as `column`."""
        table = (definition.database, definition.table)
        columns = [
            self.column(table, column.name, column.type, optional=column.optional) for column in definition.columns
        ]
        return columns, definition.key

    def _reader(self, type: MySqlType, schema: Schema) -> Read | None:
        name = type.name
        if name == "bigint" and type.unsigned:
            return numbers.unsigned_bigint(schema)
        if name in INTEGERS or name == "year":
            return numbers.integer
        if name in {"float", "double"}:
            return numbers.floats(schema, type.scale)
        if name == "decimal":
            return numbers.decimal(schema)
        if name == "bit":
            read_bit, number = numbers.bits(schema), self._forms.bit
            return lambda value: read_bit(number(value))
        if name in {"enum", "set"}:
            return self._labels(type)
        if name in BINARY:
            return self._forms.binary
        if name in _TEXT_TYPES:
            return self._forms.text(type)
        return self._temporal(name, schema)

    def _labels(self, type: MySqlType) -> Read | None:
        if type.labels is None:
            return numbers.integer if self._forms.labels == "numbers" else None
        if self._forms.labels == "labels":
            return None
        return numbers.enum_label(type.labels) if type.name == "enum" else numbers.set_labels(type.labels)

    def _temporal(self, name: str, schema: Schema) -> Read:
        if name == "date":
            return temporal.dates(schema)
        if name == "time":
            return temporal.times
        if name == "datetime":
            return temporal.datetimes(schema)
        if name == "timestamp":
            return _located(schema) if self._forms.located else temporal.timestamps(schema, self._options.zone)
        assert name == "vector", name
        return vector


def vector(value: Any) -> list[float]:
    """A VECTOR out of the text `[1,2.5,-3]`."""
    return [float(number) for number in orjson.loads(value)]


def _located(schema: Schema) -> Read:
    """A TIMESTAMP as `{"location":"Asia/Shanghai","value":"2024-02-29 23:59:59"}` (simple)."""
    zones: dict[str, Read] = {}

    def read_located(value: Any) -> Any:
        zone = value["location"]
        read = zones.get(zone)
        if read is None:
            read = zones[zone] = temporal.timestamps(schema, time_zone(zone))
        return read(value["value"])

    return read_located


def time_zone(name: str) -> ZoneInfo:
    """The zone called `name`.

    Raises:
        ValueError: there is none on this machine.
    """
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise ValueError(f"time zone {name!r} is not known") from error
