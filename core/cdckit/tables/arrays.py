"""Arrow arrays out of Python's values, by arro3: a tenth of the memory that pyarrow takes, with what pyarrow imports.

What arro3 does not make of values it takes from another type of the same layout (https://arrow.apache.org/docs/format/Columnar.html):
a date is days in 32 bits, a decimal 16 bytes with the lowest first. What it refuses, or would make null, pyarrow is
asked for, which takes more and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain, count
from typing import Any

from arro3.core import Array, DataType, Field, RecordBatch, Schema, list_array, struct_array

from cdckit.tables.allocators import load_arrow

Values = Sequence[Any]

INT32, INT64, STRING, BINARY = DataType.int32(), DataType.int64(), DataType.string(), DataType.binary()
DATE = DataType.date32()
MILLISECONDS, MICROSECONDS = DataType.timestamp("ms"), DataType.timestamp("us")
INSTANT = DataType.timestamp("us", tz="UTC")
UNSIGNED = DataType.decimal128(20, 0)
_UINT64 = DataType.uint64()
_KEY, _VALUE, _ENTRIES, _ELEMENT = "key", "value", "entries", "element"


def array(values: Values, kind: DataType) -> Array:
    """Numbers, truth values, texts or bytes, None among them.

    Raises:
        pyarrow.ArrowInvalid: a value has no place in the type.
    """
    try:
        return Array(values, kind)
    except (TypeError, ValueError, OverflowError):
        return _built(values, kind)


def _built(values: Values, kind: DataType) -> Array:
    load_arrow()
    from cdckit.tables.arrow_compute import built  # noqa: PLC0415 - only where it is needed

    return built(values, kind)


def taken_as(column: Array, kind: DataType) -> Array:
    """The same bytes as values of another type that has the same layout."""
    _, data = column.__arrow_c_array__()
    return Array.from_arrow_pycapsule(kind.__arrow_c_schema__(), data)


def days(values: Values) -> Array:
    """Days since 1970."""
    return taken_as(array(values, INT32), DATE)


def microseconds(values: Values, kind: DataType = MICROSECONDS) -> Array:
    """Microseconds since 1970, of a clock without a zone, or in UTC."""
    return taken_as(array(values, INT64), kind)


def milliseconds(values: Values) -> Array:
    """Milliseconds since 1970 as microseconds.

    Raises:
        pyarrow.ArrowInvalid: one is too far away.
    """
    given = taken_as(array(values, INT64), MILLISECONDS)
    made = given.cast(MICROSECONDS)
    if made.null_count == given.null_count:
        return made
    return cast(given, MICROSECONDS)


def decimals(values: Values, kind: DataType) -> Array:
    """Whole numbers, of which the type has the scale, from bytes in two's complement with the highest first."""

    def whole(present: list[bytes]) -> Array:
        words = b"".join([v.rjust(_WORD, _ONES if v[0] > 127 else _ZERO) for v in reversed(present)])
        if len(words) != len(present) * _WORD:
            words = b"".join([v.rjust(_WORD, _ONES if v[0] > 127 else _ZERO)[-_WORD:] for v in reversed(present)])
        # In reverse, each of them and all of them, at once: one by one takes twice the time.
        return taken_as(Array.from_buffer(words[::-1]).slice(0, len(present)), kind)

    return _with_nulls(values, whole)


_WORD, _ZERO, _ONES = 16, b"\x00", b"\xff"


def unsigned_longs(values: Values) -> Array:
    """BIGINT UNSIGNED as decimals, from its two's complement."""
    return taken_as(array(values, INT64), _UINT64).cast(UNSIGNED)


def cast(column: Array, kind: DataType, *, tolerant: bool = False) -> Array:
    """Values as another type; one that is none of it is an error, or null where that is tolerated.

    Raises:
        pyarrow.ArrowInvalid: it is one.
    """
    if column.type == kind:
        return column
    load_arrow()
    from cdckit.tables.arrow_compute import cast  # noqa: PLC0415 - only where it is needed

    return cast(column, kind, tolerant=tolerant)


def repeated(text: str | None, kind: DataType, rows: int) -> Array:
    """One value for all rows, by the text that was noted of it; None: null."""
    if text is None:
        return nulls(rows, kind)
    load_arrow()
    from cdckit.tables.arrow_compute import repeated  # noqa: PLC0415 - only where it is needed

    return repeated(text, kind, rows)


def nulls(rows: int, kind: DataType) -> Array:
    """As many times null."""
    if DataType.is_nested(kind):
        return _built([None] * rows, kind)
    return Array([None] * rows, STRING).cast(kind)


def batch_of(columns: Mapping[str, Array]) -> RecordBatch:
    """Columns as rows."""
    return RecordBatch.from_arrays([*columns.values()], names=[*columns])


def fields_of(schema: Schema) -> list[Field]:
    """The columns of a schema."""
    return [schema.field(at) for at in range(len(schema))]


# -- arrays, maps and structs


def list_type(items: DataType) -> DataType:
    """The type of arrays."""
    return DataType.list(Field(_ELEMENT, items))


def map_type(keys: DataType, items: DataType) -> DataType:
    """The type of maps."""
    return DataType.map(Field(_KEY, keys, nullable=False), Field(_VALUE, items), False)


def struct_type(members: Mapping[str, DataType]) -> DataType:
    """The type of structs."""
    return DataType.struct([Field(name, kind) for name, kind in members.items()])


def lists(values: Values, kind: DataType, items: Callable[[Values], Array]) -> Array:
    """Arrays, whose items a function makes an array of."""

    def whole(present: list[Any]) -> Array:
        return list_array(_offsets(present), items(list(chain.from_iterable(present))), type=kind)

    return _with_nulls(values, whole)


def maps(values: Values, kind: DataType, keys: Callable[[Values], Array], items: Callable[[Values], Array]) -> Array:
    """Maps, whose keys and items functions make arrays of."""

    def whole(present: list[Any]) -> Array:
        names = keys(list(chain.from_iterable(present)))
        inner = items(list(chain.from_iterable(one.values() for one in present)))
        fields = [Field(_KEY, names.type, nullable=False), Field(_VALUE, inner.type)]
        entries = struct_array([names, inner], fields=fields)
        listed = DataType.list(Field(_ENTRIES, DataType.struct(fields), nullable=False))
        return list_array(_offsets(present), entries, type=listed)

    return taken_as(_with_nulls(values, whole), kind)


def structs(values: Values, kind: DataType, members: Sequence[Callable[[Values], Array]]) -> Array:
    """Structs, of whose members functions make arrays."""

    def whole(present: list[Any]) -> Array:
        columns = zip(*(one.values for one in present), strict=True) if present else ((),) * len(members)
        arrays = [column(inner) for column, inner in zip(members, columns, strict=True)]
        return struct_array(arrays, fields=kind.fields)

    return _with_nulls(values, whole)


def _offsets(values: Iterable[Any]) -> Array:
    return Array([0, *accumulate(map(len, values))], INT32)


def _with_nulls(values: Values, whole: Callable[[list[Any]], Array]) -> Array:
    """Values of which those that are there are made an array: it is the others that arro3 has no way to say."""
    present = [value for value in values if value is not None]
    made = whole(present)
    if len(present) == len(values):
        return made
    numbers = count()
    return made.take(Array([None if value is None else next(numbers) for value in values], INT64))
