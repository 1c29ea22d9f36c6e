"""Geometries: the server's own form is a spatial reference number before well-known binary (WKB).

MySQL reference manual, "Internal Geometry Storage Format"; Debezium's `io.debezium.data.geometry`.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct as Layout

from cdckit import DecodeError, Schema, Struct

_SRID = Layout("<i").unpack_from
_LITTLE, _BIG = Layout("<dd").unpack_from, Layout(">dd").unpack_from
_POINT_SIZE = 21
_EMPTY_WKB = bytes.fromhex("010700000000000000")
"""GEOMETRYCOLLECTION EMPTY, Debezium's value for a null that may not be."""

TYPES = frozenset(
    {
        "GEOMETRY", "POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON",
        "GEOMETRYCOLLECTION", "GEOMCOLLECTION",
    }
)  # fmt: skip


def geometry_of(schema: Schema) -> Callable[[bytes], Struct]:
    """The function from the server's bytes to a struct of `schema`, which has the fields of logical.GEOMETRY."""

    def convert(data: bytes) -> Struct:
        return Struct(schema, (data[4:], _SRID(data)[0] or None))

    return convert


def point_of(schema: Schema) -> Callable[[bytes], Struct]:
    """The function from the server's bytes to a struct of `schema`, which has the fields of logical.POINT."""

    def convert(data: bytes) -> Struct:
        wkb = data[4:]
        if len(wkb) != _POINT_SIZE:
            raise DecodeError(f"{len(wkb)} bytes of WKB are no point")
        x, y = (_LITTLE if wkb[0] else _BIG)(wkb, 5)
        return Struct(schema, (x, y, wkb, _SRID(data)[0] or None))

    return convert


def empty_geometry(schema: Schema) -> Struct:
    """What a null is shown as where the column may hold none."""
    members = {"wkb": _EMPTY_WKB, "srid": None}
    return Struct.of(schema, members if "x" not in schema.index else {"x": 0.0, "y": 0.0, **members})
