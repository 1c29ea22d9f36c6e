"""Geometries as well-known binary (WKB), and as the extended one (EWKB) with the reference system's number inside."""

from __future__ import annotations

import struct

_SRID, _M, _Z = 0x2000_0000, 0x4000_0000, 0x8000_0000
_POINT, _LINE, _POLYGON, _POINTS, _LINES, _POLYGONS, _COLLECTION = range(1, 8)
_PARTS_OF = {_POINTS: _POINT, _LINES: _LINE, _POLYGONS: _POLYGON}


def is_extended(data: bytes) -> bool:
    """Whether the reference system's number is inside."""
    return len(data) >= 5 and bool(_word(data, 1, _order(data, 0)) & _SRID)


def extended(data: bytes, srid: int) -> bytes:
    """The geometry with the reference system's number inside."""
    order = _order(data, 0)
    kind = struct.pack(f"{order}I", _word(data, 1, order) | _SRID)
    return data[:1] + kind + struct.pack(f"{order}i", srid) + data[5:]


def plain(data: bytes) -> bytes:
    """The same without the number."""
    order = _order(data, 0)
    return data[:1] + struct.pack(f"{order}I", _word(data, 1, order) & ~_SRID) + data[9:]


def swapped(data: bytes) -> bytes:
    """The geometry with x and y in each other's place.

    Raises:
        ValueError: it is no geometry, or ends too soon.
    """
    made = bytearray(data)
    try:
        _Swap(made).geometry(0)
    except (struct.error, IndexError) as error:
        raise ValueError("a geometry ends too soon") from error
    return bytes(made)


def _order(data: bytes | bytearray, at: int) -> str:
    return "<" if data[at] == 1 else ">"


def _word(data: bytes | bytearray, at: int, order: str) -> int:
    word: int = struct.unpack_from(f"{order}I", data, at)[0]
    return word


class _Swap:
    """Swaps in place; each method takes the place where its part begins and says where it ends."""

    def __init__(self, data: bytearray) -> None:
        self._data = data

    def geometry(self, at: int) -> int:
        """A geometry with its byte order and type before it."""
        order = _order(self._data, at)
        kind = _word(self._data, at + 1, order)
        at += 9 if kind & _SRID else 5
        size = 8 * (2 + bool(kind & _Z) + bool(kind & _M))
        return self._shape(kind & 0xFF, at, order, size)

    def _shape(self, kind: int, at: int, order: str, size: int) -> int:
        if kind == _POINT:
            return self._points(at, 1, size)
        if kind == _LINE:
            return self._points(at + 4, _word(self._data, at, order), size)
        if kind not in (*_PARTS_OF, _POLYGON, _COLLECTION):
            raise ValueError(f"there is no geometry of type {kind}")
        count, at = _word(self._data, at, order), at + 4
        for _ in range(count):
            if kind == _COLLECTION:
                at = self.geometry(at)
            elif kind == _POLYGON:
                at = self._shape(_LINE, at, order, size)
            else:
                at = self._shape(_PARTS_OF[kind], at + 5, _order(self._data, at), size)
        return at

    def _points(self, at: int, count: int, size: int) -> int:
        data = self._data
        if at + count * size > len(data):
            raise ValueError("a geometry ends too soon")
        for start in range(at, at + count * size, size):
            data[start : start + 16] = data[start + 8 : start + 16] + data[start : start + 8]
        return at + count * size
