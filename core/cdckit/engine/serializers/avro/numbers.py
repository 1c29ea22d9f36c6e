"""Avro's integers: variable-length, zig-zag (Avro's specification, "Binary Encoding").

Seven bits a byte take a step each; tables of fourteen bits halve them, and one of small numbers spares them. Large
numbers are mostly times, the upper parts of which come again.
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


_LOW = 2 * _BITS
_UPPER = 4096
"""So many upper parts of large numbers are kept: those of times change every few minutes, or seconds."""


class _UpperBytes(dict[int, bytes]):
    """The bytes of what large numbers have above their lowest bits."""

    def __missing__(self, upper: int) -> bytes:
        if upper >> (64 - _LOW):
            raise ValueError("it is no integer of 64 bits")
        if len(self) >= _UPPER:
            self.clear()
        made = self[upper] = _variable(upper)
        return made


_upper = _UpperBytes()


def long_bytes(number: int) -> bytes:
    """An integer of up to 64 bits.

    Raises:
        ValueError: it has more.
    """
    number = (number << 1) ^ (number >> 63)
    if number <= _MASK:
        return _LAST[number]
    if number >> _LOW == 0:
        return _MORE[number & _MASK] + _LAST[number >> _BITS]
    return _MORE[number & _MASK] + _MORE[number >> _BITS & _MASK] + _upper[number >> _LOW]


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
