"""Rows of a DataFrame as messages: the columns that the data source `cdckit` gives, or some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Any

import pyarrow as pa
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType, TimestampType

from cdckit.api.messages import EncodedHeaders, Messages
from cdckit.errors import ConfigError, Problem, SinkError
from cdckit.tables.own_columns import OP, POSITION

PORTION = 2000
"""How many rows are made into messages at a time ..."""
_PORTION_BYTES = 8 << 20
"""... or how many bytes of them, where Spark gives Arrow."""

_ONE_TABLES = (
    f"columns: rows of one table (with '{OP}' and '{POSITION}') say neither key nor value of a message: select them, "
    "as by to_json(struct(id)) as key, to_json(struct(*)) as value, or read without the option 'table'"
)


def _is_text(kind: DataType) -> bool:
    return isinstance(kind, BinaryType | StringType)


def _is_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = kind.elementType.fields
    names = [field.name for field in fields]
    return names == ["key", "value"] and isinstance(fields[0].dataType, StringType) and _is_text(fields[1].dataType)


_FITS: Mapping[str, tuple[str, Callable[[DataType], bool]]] = {
    "topic": ("string", lambda kind: isinstance(kind, StringType)),
    "partition": ("int", lambda kind: isinstance(kind, IntegerType)),
    "key": ("binary or string", _is_text),
    "value": ("binary or string", _is_text),
    "headers": ("array<struct<key: string, value: binary>>", _is_headers),
    "timestamp": ("timestamp", lambda kind: isinstance(kind, TimestampType)),
    "position": ("string", lambda kind: isinstance(kind, StringType)),
}
"""The columns, each with its type in words and a test of it."""


@dataclass(frozen=True, slots=True)
class MessageRows:
    """What rows are made of. It can be pickled.

    Attributes:
        names: the columns, in the rows' order.
        topic: the topic of all of them; None: the column says it.
    """

    names: tuple[str, ...]
    topic: str | None

    @classmethod
    def of(cls, schema: StructType, topic: str | None) -> MessageRows:
        """The rows of a schema.

        Raises:
            ConfigError: they are no messages, with all that is wrong at once.
        """
        if problems := [*_problems(schema, topic)]:
            raise ConfigError(*problems)
        return cls(tuple(schema.fieldNames()), topic)

    def messages(self, rows: Iterable[Any]) -> Iterator[Messages]:
        """The messages, a portion at a time, of Arrow batches or rows, whichever this release of Spark gives.

        Raises:
            SinkError: a row names no topic.
        """
        for columns in _portions(iter(rows), self.names):
            yield self._made(columns)

    def _made(self, columns: dict[str, list[Any]]) -> Messages:
        count = len(columns["value"])

        def column(name: str) -> list[Any]:
            return columns.get(name, [None] * count)

        topics = column("topic") if self.topic is None else [self.topic] * count
        if None in topics:
            raise SinkError(
                "topic: a row has null there: leave such rows out, or give the option 'topic'", number="CDC4303"
            )
        return Messages(
            topics,
            column("partition"),
            [*map(_bytes, column("key"))],
            [*map(_bytes, columns["value"])],
            [*map(_headers, column("headers"))],
            [position or "" for position in column("position")],
            [*map(_milliseconds, column("timestamp"))],
        )


def _problems(schema: StructType, topic: str | None) -> Iterator[str]:
    names = schema.fieldNames()
    if OP in names and POSITION in names and "value" not in names:
        yield Problem(_ONE_TABLES, "CDC2402")
        return
    if "value" not in names:
        yield Problem("columns: value is required, the message's bytes or text", "CDC2202")
    if topic is None and "topic" not in names:
        yield Problem("topic: required, as an option or as a column", "CDC2202")
    for field in schema.fields:
        if field.name not in _FITS:
            known = ", ".join(_FITS)
            yield Problem(f"columns: {field.name} is no part of a message, which has {known}: leave it out", "CDC2203")
        elif not _FITS[field.name][1](field.dataType):
            wanted = _FITS[field.name][0]
            found = field.dataType.simpleString()
            yield Problem(f"columns: {field.name} should be {wanted}, and is {found}: cast it", "CDC2203")


def _portions(rows: Iterator[Any], names: Sequence[str]) -> Iterator[dict[str, list[Any]]]:
    first = next(rows, None)
    if isinstance(first, pa.RecordBatch):
        yield from _of_arrow(first, rows, names)
        return
    while first is not None:
        part = [first, *islice(rows, PORTION - 1)]
        yield {name: [*column] for name, column in zip(names, zip(*part, strict=True), strict=True)}
        first = next(rows, None)


def _of_arrow(
    first: pa.RecordBatch, rest: Iterator[pa.RecordBatch], names: Sequence[str]
) -> Iterator[dict[str, list[Any]]]:
    gathered: dict[str, list[Any]] = {name: [] for name in names}
    size, count = 0, 0
    for batch in chain([first], rest):
        for name, column in zip(names, batch.columns, strict=True):
            gathered[name] += _plain(column)
        size, count = size + batch.nbytes, count + batch.num_rows
        if count >= PORTION or size >= _PORTION_BYTES:
            yield gathered
            gathered, size, count = {name: [] for name in names}, 0, 0
    if count:
        yield gathered


def _plain(column: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("ms", column.type.tz), safe=False).cast(pa.int64())
    values: list[Any] = column.to_pylist()
    return values


def _bytes(value: str | bytes | bytearray | None) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else bytes(value)


def _headers(found: Sequence[Any] | None) -> EncodedHeaders:
    """Of Arrow's dicts, or of rows."""
    pairs = ((one["key"], one["value"]) for one in found or ())
    return tuple((key, _bytes(value)) for key, value in pairs)


def _milliseconds(moment: int | datetime | None) -> int | None:
    # Rows have the time in the worker's own zone, without saying so.
    return round(moment.timestamp() * 1_000_000) // 1000 if isinstance(moment, datetime) else moment
