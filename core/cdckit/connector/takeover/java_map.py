"""Reads and writes a serialized `java.util.HashMap` of byte arrays: Kafka Connect's `FileOffsetBackingStore`'s file.

Java Object Serialization Specification, chapter 6; of its grammar only what such a map is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, pack

from cdckit.connector.damage import DAMAGE
from cdckit.errors import StateError

MAGIC = b"\xac\xed\x00\x05"
_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY, _BLOCK, _END = 0x70, 0x71, 0x72, 0x73, 0x75, 0x77, 0x78
_SIZES = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}
_INT = Struct(">i").unpack_from
_SHORT = Struct(">H").unpack_from
_MAP = MAGIC + bytes.fromhex(
    "737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249000974687265"
    "73686f6c6478703f400000"
)
"""An object of the class `java.util.HashMap`, up to its load factor, 0.75."""
_FIRST_ARRAY, _ANOTHER_ARRAY = bytes.fromhex("757200025b42acf317f8060854e00200007870"), bytes.fromhex("7571007e0002")
"""What arrays of bytes begin with: the class is told once."""
_IDENTITY = 8
"""The size of a class's `serialVersionUID`."""


def read_byte_map(data: bytes) -> list[tuple[bytes | None, bytes | None]]:
    """The map's pairs.

    Raises:
        StateError: it is no such map.
    """
    try:
        return _Stream(data).pairs()
    except DAMAGE as error:
        raise StateError(
            f"no map of offsets as Kafka Connect writes it to a file: {error}", number="CDC7403"
        ) from error


def write_byte_map(pairs: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The map of these pairs, one at least."""
    capacity = 16
    while 3 * capacity < 4 * len(pairs):
        capacity *= 2
    parts = [_MAP, pack(">i", capacity * 3 // 4), pack(">BBii", _BLOCK, 8, capacity, len(pairs))]
    for number, part in enumerate(part for pair in pairs for part in pair):
        parts += [_ANOTHER_ARRAY if number else _FIRST_ARRAY, pack(">i", len(part)), part]
    return b"".join((*parts, bytes([_END])))


class _Stream:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = len(MAGIC)

    def pairs(self) -> list[tuple[bytes | None, bytes | None]]:
        self._expect(_OBJECT)
        self._skip(self._class())
        self._expect(_BLOCK)
        block = self._take(self._take(1)[0])
        count = _INT(block, 4)[0]
        return [(self._bytes(), self._bytes()) for _ in range(count)]

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + size]
        if len(taken) < size:
            raise ValueError("it ends too early")
        self._at += size
        return taken

    def _skip(self, size: int) -> None:
        self._take(size)

    def _expect(self, *codes: int) -> int:
        code = self._take(1)[0]
        if code not in codes:
            raise ValueError(f"byte {self._at - 1} is {code:#04x}")
        return code

    def _text(self) -> str:
        return self._take(_SHORT(self._take(2))[0]).decode()

    def _class(self) -> int:
        """Reads a class's description, or a reference to one; gives the size of its fields' values."""
        code = self._expect(_CLASS, _REFERENCE)
        if code == _REFERENCE:
            self._skip(4)
            return 0
        self._text()
        self._skip(_IDENTITY + 1)
        size = 0
        for _ in range(_SHORT(self._take(2))[0]):
            size += _SIZES[self._take(1).decode("latin-1")]
            self._text()
        self._expect(_END)
        self._expect(_NULL)
        return size

    def _bytes(self) -> bytes | None:
        if self._expect(_ARRAY, _NULL) == _NULL:
            return None
        self._class()
        return self._take(_INT(self._take(4))[0])
