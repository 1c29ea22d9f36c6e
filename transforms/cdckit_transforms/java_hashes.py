"""What Java's `hashCode`, and Debezium's MurmurHash3 of it, make of values: by them records find their partitions."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from cdckit import Schema, TransformError, logical
from cdckit_transforms.java_numbers import narrowed

Hash = Callable[[Any], int]

_MASK = (1 << 64) - 1
_SEED = 9001
_UNITS = {
    logical.CONNECT_DATE.name: 86_400_000,
    logical.CONNECT_TIME.name: 1,
    logical.CONNECT_TIMESTAMP.name: 1,
}


def java_hash(schema: Schema) -> Hash:
    """What hashes values of a schema as Java does, into 32 bits.

    Raises:
        TransformError: they are of a compound type.
    """
    if schema.name in _UNITS:
        unit = _UNITS[schema.name]
        return lambda value: _long(value * unit)
    if schema.name == logical.DECIMAL_NAME:
        scale = int((schema.parameters or {}).get("scale", 0))
        return lambda value: _decimal(int.from_bytes(value, "big", signed=True), scale)
    found = _HASHES.get(schema.type)
    if found is None:
        raise TransformError(f"{schema.type} makes no partition; name a field of it")
    return found


def murmur_hash(schema: Schema) -> Hash:
    """What hashes values of a schema by MurmurHash3, texts by their bytes and others by Java's hash of them."""
    if schema.type == "string":
        return lambda text: murmur(text.encode("utf-8", "replace"))
    java = java_hash(schema)
    return lambda value: murmur(struct.pack("<i", java(value)))


def _long(value: int) -> int:
    bits = value & _MASK
    return narrowed(bits ^ bits >> 32, 32)


def _double(value: float) -> int:
    bits = 0x7FF8 << 48 if value != value else int.from_bytes(struct.pack(">d", value), "big")  # noqa: PLR0124
    return narrowed(bits ^ bits >> 32, 32)


def _float(value: float) -> int:
    if value != value:  # noqa: PLR0124 - only NaN differs
        return 0x7FC0_0000
    return int.from_bytes(struct.pack(">f", value), "big", signed=True)


def _string(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    return _polynomial(struct.unpack(f"<{len(units) // 2}H", units), 0)


def _bytes(value: bytes) -> int:
    """As `ByteBuffer` has it: from its end on, bytes with their signs."""
    return _polynomial(struct.unpack(f"{len(value)}b", value)[::-1], 1)


def _polynomial(numbers: tuple[int, ...], start: int) -> int:
    found = start
    for number in numbers:
        found = (31 * found + number) & 0xFFFF_FFFF
    return narrowed(found, 32)


def _decimal(unscaled: int, scale: int) -> int:
    """By the 32-bit words of the number without its sign and point."""
    size = (abs(unscaled).bit_length() + 31) // 32 * 4
    found = _polynomial(struct.unpack(f">{size // 4}I", abs(unscaled).to_bytes(size, "big")), 0)
    return narrowed(31 * (-found if unscaled < 0 else found) + scale, 32)


_HASHES: dict[str, Hash] = {
    "int8": int,
    "int16": int,
    "int32": int,
    "int64": _long,
    "float32": _float,
    "float64": _double,
    "boolean": lambda value: 1231 if value else 1237,
    "string": _string,
    "bytes": _bytes,
}


class _Mixed:
    """The state of MurmurHash3, x64, as Debezium has it."""

    def __init__(self) -> None:
        self.h1, self.h2 = 0x9368E53C2F6AF274 ^ _SEED, 0x586DCD208F7CD3FD ^ _SEED
        self.c1, self.c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F

    def mix(self, k1: int, k2: int) -> None:
        """Takes a block of two words."""
        k1 = _rotated(k1 * self.c1 & _MASK, 23) * self.c2 & _MASK
        self.h1 = ((self.h1 ^ k1) + self.h2) & _MASK
        self.h2 = _rotated(self.h2, 41)
        k2 = _rotated(k2 * self.c2 & _MASK, 23) * self.c1 & _MASK
        self.h2 = ((self.h2 ^ k2) + self.h1) & _MASK
        self.h1 = (self.h1 * 3 + 0x52DCE729) & _MASK
        self.h2 = (self.h2 * 3 + 0x38495AB5) & _MASK
        self.c1 = (self.c1 * 5 + 0x7B7D159C) & _MASK
        self.c2 = (self.c2 * 5 + 0x6BCE6396) & _MASK

    def end(self, length: int) -> int:
        """The hash of so many bytes, as 32 bits with a sign."""
        h2 = self.h2 ^ length
        h1 = (self.h1 + h2) & _MASK
        h2 = (h2 + h1) & _MASK
        return narrowed((_finished(h1) + _finished(h2) & _MASK) >> 32, 32)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 64 - bits) & _MASK


def _finished(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _MASK
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return word ^ word >> 33


def murmur(data: bytes) -> int:
    """Debezium's MurmurHash3 of some bytes."""
    state = _Mixed()
    whole = len(data) // 16 * 16
    for at in range(0, whole, 16):
        state.mix(*struct.unpack_from("<QQ", data, at))
    if tail := data[whole:]:
        state.mix(_signed_word(tail[:8]), _signed_word(tail[8:]))
    return state.end(len(data))


def _signed_word(data: bytes) -> int:
    """A word of the bytes that are left, each with its sign: so it is there."""
    word = 0
    for at, byte in enumerate(struct.unpack(f"{len(data)}b", data)):
        word ^= byte << 8 * at
    return word & _MASK
