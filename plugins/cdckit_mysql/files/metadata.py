"""A table's definition from what the log itself says of it (`binlog_row_metadata=FULL`).

MySQL reference manual, "binlog_row_metadata"; MySQL source documentation, "class Table_map_event". Defaults, comments,
AUTO_INCREMENT, secondary indexes and display widths do not stand there, nor what MariaDB's own types are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from cdckit_mysql.binlog import column_types
from cdckit_mysql.binlog.tables import ColumnMetadata, TableMap
from cdckit_mysql.ddl import Charsets
from cdckit_mysql.table import Column, Table
from cdckit_mysql.values.charset import charset_of_collation, text_decoder

_BINARY = 63
"""The collation of columns of bytes."""
_SIZES = {1: "TINY", 2: "", 3: "MEDIUM", 4: "LONG"}
"""Which TEXT or BLOB keeps its length in so many bytes."""
_GEOMETRIES = (
    "GEOMETRY",
    "POINT",
    "LINESTRING",
    "POLYGON",
    "MULTIPOINT",
    "MULTILINESTRING",
    "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
)


class _Type(NamedTuple):
    name: str
    length: int | None = None
    scale: int | None = None


_PLAIN = {
    column_types.TINY: "TINYINT",
    column_types.SHORT: "SMALLINT",
    column_types.INT24: "MEDIUMINT",
    column_types.LONG: "INT",
    column_types.LONGLONG: "BIGINT",
    column_types.FLOAT: "FLOAT",
    column_types.DOUBLE: "DOUBLE",
    column_types.DATE: "DATE",
    column_types.NEWDATE: "DATE",
    column_types.TIMESTAMP: "TIMESTAMP",
    column_types.DATETIME: "DATETIME",
    column_types.TIME: "TIME",
    column_types.YEAR: "YEAR",
    column_types.JSON: "JSON",
}
_TIMES = {column_types.TIMESTAMP2: "TIMESTAMP", column_types.DATETIME2: "DATETIME", column_types.TIME2: "TIME"}
_VARIABLE = frozenset({column_types.VARCHAR, column_types.VAR_STRING, column_types.MARIADB_VARCHAR_COMPRESSED})
_BLOBS = frozenset({column_types.BLOB, column_types.MARIADB_BLOB_COMPRESSED})


def table_of(announced: TableMap, charsets: Charsets) -> Table | None:
    """The definition, or None where the log tells no names (`binlog_row_metadata=MINIMAL`)."""
    metadata = announced.column_metadata
    if metadata.names is None:
        return None
    columns = tuple(_Columns(announced, metadata, metadata.names, charsets).made())
    key = tuple(columns[place].name for place in metadata.primary_key or ())
    return Table(announced.database, announced.name, columns, key)


class _Columns:
    """Makes the columns of one table."""

    def __init__(
        self, announced: TableMap, metadata: ColumnMetadata, names: tuple[str, ...], charsets: Charsets
    ) -> None:
        self._announced = announced
        self._metadata = metadata
        self._names = names
        self._charsets = charsets
        self._geometries = iter(metadata.geometry_types or ())

    def made(self) -> Iterator[Column]:
        """The columns, in order."""
        return (self._column(place, name) for place, name in enumerate(self._names))

    def _column(self, place: int, name: str) -> Column:
        collation = self._collation(place)
        charset = None if collation in (None, _BINARY) else charset_of_collation(collation or 0)
        kind = self._type(place, charset)
        unsigned = self._metadata.unsigned is not None and self._metadata.unsigned[place] and kind.name != "YEAR"
        optional = self._announced.nullable(place)
        return Column(
            name=name,
            type_name=f"{kind.name} UNSIGNED" if unsigned else kind.name,
            position=place + 1,
            length=kind.length,
            scale=kind.scale,
            charset=charset,
            collation=None if charset is None else self._charsets.default(charset, {}).name,
            optional=optional,
            has_default=optional,
            enum_values=self._labels(place, charset),
            invisible=self._metadata.visible is not None and not self._metadata.visible[place],
        )

    def _type(self, place: int, charset: str | None) -> _Type:
        code, size = self._announced.types[place], self._announced.metadata[place]
        if code in _PLAIN:
            return _Type(_PLAIN[code])
        if code in _TIMES:
            return _Type(_TIMES[code], size or None)
        if code in _VARIABLE:
            return self._sized("VARCHAR" if charset else "VARBINARY", size, charset)
        if code == column_types.STRING:
            return self._sized("CHAR" if charset else "BINARY", size, charset)
        if code in _BLOBS:
            return _Type(_SIZES.get(size, "LONG") + ("TEXT" if charset else "BLOB"))
        return _OTHERS[code](self, place, size)

    def _sized(self, name: str, size: int, charset: str | None) -> _Type:
        return _Type(name, size // (self._charsets.max_bytes(charset) if charset else 1))

    def _geometry(self, _place: int, _size: int) -> _Type:
        number = next(self._geometries, 0)
        return _Type(_GEOMETRIES[number] if number < len(_GEOMETRIES) else "GEOMETRY")

    def _enum(self, _place: int, _size: int) -> _Type:
        return _Type("ENUM", 1)

    def _set(self, place: int, _size: int) -> _Type:
        return _Type("SET", max(0, 2 * len(self._labels(place, None)) - 1))

    def _decimal(self, _place: int, size: int) -> _Type:
        return _Type("DECIMAL", size >> 8, size & 0xFF)

    def _bit(self, _place: int, size: int) -> _Type:
        return _Type("BIT", size)

    def _vector(self, _place: int, _size: int) -> _Type:
        return _Type("VECTOR", 2048)

    def _collation(self, place: int) -> int | None:
        return self._metadata.collations[place] if self._metadata.collations else None

    def _labels(self, place: int, charset: str | None) -> tuple[str, ...]:
        labels = self._metadata.labels[place] if self._metadata.labels else None
        return tuple(map(text_decoder(charset), labels or ()))


_OTHERS: dict[int, Callable[[_Columns, int, int], _Type]] = {
    column_types.NEWDECIMAL: _Columns._decimal,
    column_types.BIT: _Columns._bit,
    column_types.ENUM: _Columns._enum,
    column_types.SET: _Columns._set,
    column_types.VECTOR: _Columns._vector,
    column_types.GEOMETRY: _Columns._geometry,
}
