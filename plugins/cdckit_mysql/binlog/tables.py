"""TABLE_MAP: which table the rows events that follow are of, and how its columns are stored.

MySQL source documentation, "class Table_map_event"; MariaDB writes the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cdckit import DecodeError
from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.binlog.events import LogEvent

_POST_HEADER = 8
_TABLE_ID_BYTES = 6


@dataclass(frozen=True, slots=True)
class ColumnMetadata:
    """What TABLE_MAP tells beyond the storage format (`binlog_row_metadata`); None where it does not tell.

    Attributes:
        unsigned: for each column, whether it is a number without sign.
        collations: for each column, the collation's number of text (63 for bytes), else None.
        names: the columns' names.
        labels: for each ENUM or SET column its labels as stored in its character set, else None.
        primary_key: the places of the key's columns, from 0.
        visible: for each column, whether `SELECT *` shows it.
        geometry_types: the geometry type's number of each geometry column, in their order.
    """

    unsigned: tuple[bool, ...] | None = None
    collations: tuple[int | None, ...] | None = None
    names: tuple[str, ...] | None = None
    labels: tuple[tuple[bytes, ...] | None, ...] | None = None
    primary_key: tuple[int, ...] | None = None
    visible: tuple[bool, ...] | None = None
    geometry_types: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class TableMap:
    """A table as the log announces it. Equal announcements are the same object, whatever their events.

    Attributes:
        table_id: the number that rows events refer to it by.
        database: its database.
        name: its name.
        types: the columns' storage types, see `column_types`; ENUM and SET are told apart from STRING.
        metadata: for each column what its type needs: a length, a precision and scale, or 0.
        layout: the bytes of types and metadata: tables with the same layout are decoded alike.
        nulls: a bit for each column, set where it may be NULL.
        optional: the bytes of the optional metadata.
        body: the bytes that all this was read from.
    """

    table_id: int
    database: str
    name: str
    types: tuple[int, ...]
    metadata: tuple[int, ...]
    layout: bytes
    nulls: bytes = field(repr=False)
    optional: bytes = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def column_metadata(self) -> ColumnMetadata:
        """The optional metadata, read anew at each call."""
        return _OptionalMetadata(self).read()

    def nullable(self, place: int) -> bool:
        """Whether the column at `place`, from 0, may be NULL."""
        return bool(self.nulls[place >> 3] >> (place & 7) & 1)


class TableMapEvent(LogEvent):
    """The log announces a table."""

    __slots__ = ("table",)

    table: TableMap


def read_table_map(data: bytes) -> TableMap:
    """Read the body of a TABLE_MAP event.

    Raises:
        DecodeError: a column's type is not known.
    """
    table_id = int.from_bytes(data[:_TABLE_ID_BYTES], "little")
    database, at = _name(data, _POST_HEADER)
    name, at = _name(data, at)
    count, at = packed_integer(data, at)
    types, at = data[at : at + count], at + count
    size, at = packed_integer(data, at)
    metadata, at = data[at : at + size], at + size
    columns = tuple(_columns(types, metadata))
    behind = at + (count + 7) // 8
    return TableMap(
        table_id=table_id,
        database=database,
        name=name,
        types=tuple(c[0] for c in columns),
        metadata=tuple(c[1] for c in columns),
        layout=types + metadata,
        nulls=data[at:behind],
        optional=data[behind:],
        body=data,
    )


def _name(data: bytes, at: int) -> tuple[str, int]:
    """A text behind its length and before a zero byte, and where it ends."""
    end = at + 1 + data[at]
    return data[at + 1 : end].decode("utf-8", "replace"), end + 1


def _columns(types: bytes, metadata: bytes) -> Iterator[tuple[int, int]]:
    """Each column's type and metadata, both without their packing."""
    at = 0
    for column_type in types:
        size = column_types.METADATA_SIZES.get(column_type, 0)
        value = metadata[at : at + size]
        at += size
        if column_type == column_types.STRING:
            yield _string_column(value[0], value[1])
        elif column_type in {column_types.NEWDECIMAL, column_types.ENUM, column_types.SET}:
            # For DECIMAL precision and scale, for ENUM and SET type and size: two bytes, not a number little end first.
            yield column_type, value[0] << 8 | value[1]
        elif column_type == column_types.BIT:
            yield column_type, value[1] * 8 + value[0]
        else:
            yield column_type, int.from_bytes(value, "little")


def _string_column(first: int, second: int) -> tuple[int, int]:
    """CHAR and BINARY with their length in bytes, ENUM and SET with their size in bytes.

    Bits 4 and 5 of the type, inverted, are bits 8 and 9 of a length.
    """
    if first & 0x30 != 0x30:
        return first | 0x30, second | ((first & 0x30) ^ 0x30) << 4
    return first, second


class _OptionalMetadata:
    """Reads the fields of type, length and value behind the null bits."""

    def __init__(self, table: TableMap) -> None:
        self.table = table
        self.numbers = [i for i, t in enumerate(table.types) if t in column_types.NUMBERS]
        self.texts = [i for i, t in enumerate(table.types) if t in column_types.TEXTS]
        self.enums = [i for i, t in enumerate(table.types) if t == column_types.ENUM]
        self.sets = [i for i, t in enumerate(table.types) if t == column_types.SET]

    def read(self) -> ColumnMetadata:
        fields = dict(self._fields())
        if not fields:
            return ColumnMetadata()
        return ColumnMetadata(
            unsigned=self._bits(fields.get(1), self.numbers),
            collations=self._collations(fields),
            names=tuple(_texts(fields[4])) if 4 in fields else None,
            labels=self._labels(fields),
            primary_key=_primary_key(fields),
            visible=self._bits(fields.get(12), list(range(len(self.table.types)))),
            geometry_types=tuple(_integers(fields[7])) if 7 in fields else None,
        )

    def _fields(self) -> Iterator[tuple[int, bytes]]:
        data, at = self.table.optional, 0
        while at < len(data):
            kind = data[at]
            size, at = packed_integer(data, at + 1)
            if at + size > len(data):
                raise DecodeError(f"the table map of {self.table.database}.{self.table.name} is cut short")
            yield kind, data[at : at + size]
            at += size

    def _bits(self, data: bytes | None, columns: list[int]) -> tuple[bool, ...] | None:
        if data is None:
            return None
        found = [False] * len(self.table.types)
        for place, column in enumerate(columns):
            # Here the first column has the highest bit; in null bits and images it has the lowest.
            found[column] = bool(data[place >> 3] & 0x80 >> (place & 7))
        return tuple(found)

    def _collations(self, fields: dict[int, bytes]) -> tuple[int | None, ...] | None:
        found: list[int | None] = [None] * len(self.table.types)
        texts = self._fill_texts(found, fields)
        labels = _fill(found, sorted(self.enums + self.sets), fields.get(10), fields.get(11))
        return tuple(found) if texts or labels else None

    def _fill_texts(self, found: list[int | None], fields: dict[int, bytes]) -> bool:
        """MariaDB counts geometries among the columns with a collation; one collation for all leaves that open."""
        each = fields.get(3)
        if column_types.GEOMETRY not in self.table.types:
            return _fill(found, self.texts, fields.get(2), each)
        if each is None:
            return False
        wide = [i for i, t in enumerate(self.table.types) if t in column_types.TEXTS or t == column_types.GEOMETRY]
        return _fill(found, wide if len(list(_integers(each))) == len(wide) else self.texts, None, each)

    def _labels(self, fields: dict[int, bytes]) -> tuple[tuple[bytes, ...] | None, ...] | None:
        if 5 not in fields and 6 not in fields:
            return None
        found: list[tuple[bytes, ...] | None] = [None] * len(self.table.types)
        for columns, data in ((self.sets, fields.get(5, b"")), (self.enums, fields.get(6, b""))):
            for column, labels in zip(columns, _label_lists(data), strict=False):
                found[column] = labels
        return tuple(found)


def _fill(found: list[int | None], columns: list[int], default: bytes | None, each: bytes | None) -> bool:
    """Note the collations of `columns`: one for all with exceptions by place, or one for each."""
    if default is not None:
        first, *exceptions = _integers(default)
        for column in columns:
            found[column] = first
        for place, collation in zip(exceptions[::2], exceptions[1::2], strict=True):
            found[columns[place]] = collation
    elif each is not None:
        for column, collation in zip(columns, _integers(each), strict=True):
            found[column] = collation
    return default is not None or each is not None


def _primary_key(fields: dict[int, bytes]) -> tuple[int, ...] | None:
    if 8 in fields:
        return tuple(_integers(fields[8]))
    return tuple(_integers(fields[9]))[::2] if 9 in fields else None


def _integers(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        value, at = packed_integer(data, at)
        yield value


def _strings(data: bytes, at: int = 0, count: int | None = None) -> Iterator[tuple[bytes, int]]:
    """Strings behind their lengths, each with the place behind it."""
    while at < len(data) and count != 0:
        size, at = packed_integer(data, at)
        at += size
        yield data[at - size : at], at
        count = None if count is None else count - 1


def _texts(data: bytes) -> Iterator[str]:
    return (text.decode("utf-8", "replace") for text, _ in _strings(data))


def _label_lists(data: bytes) -> Iterator[tuple[bytes, ...]]:
    at = 0
    while at < len(data):
        count, at = packed_integer(data, at)
        labels = []
        for label, end in _strings(data, at, count):
            labels.append(label)
            at = end
        yield tuple(labels)
