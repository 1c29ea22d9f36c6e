"""Avro's integers: variable-length, zig-zag (Avro's specification, "Binary Encoding").

Seven bits a byte take a step each; tables of fourteen bits halve them, and one of small numbers spares them.
"""

from __future__ import annotations

from functools import cache

SMALL = 4096
"""How many whole numbers from zero on there are a table for."""
_BITS = 14
_MASK = (1 << _BITS) - 1


def _variable(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


_LAST = [_variable(number) for number in range(1 << _BITS)]
_MORE = [bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(1 << _BITS)]


def long_bytes(number: int) -> bytes:
    """An integer of up to 64 bits.

    Raises:
        ValueError: it has more.
    """
    number = (number << 1) ^ (number >> 63)
    if number <= _MASK:
        return _LAST[number]
    if number >> 28 == 0:
        return _MORE[number & _MASK] + _LAST[number >> 14]
    if number >> 42 == 0:
        return _MORE[number & _MASK] + _MORE[number >> 14 & _MASK] + _LAST[number >> 28]
    if number >> 64:
        raise ValueError("it is no integer of 64 bits")
    parts = [_MORE[number & _MASK]]
    while (number := number >> _BITS) > _MASK:
        parts.append(_MORE[number & _MASK])
    return b"".join((*parts, _LAST[number]))


def int_bytes(number: int) -> bytes:
    """An integer of up to 32 bits.

    Raises:
        ValueError: it has more.
    """
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError(f"{number} is no integer of 32 bits, which the registered schema wants")
    return long_bytes(number)


@cache
def small_numbers(before: bytes) -> list[bytes]:
    """The bytes of the numbers below `SMALL`, with what stands before them."""
    return [before + long_bytes(number) for number in range(SMALL)]
