"""Protobuf's integers: variable-length, negative ones in two's complement (Protobuf's documentation, "Encoding")."""

from __future__ import annotations

from functools import cache

SMALL = 128
"""How many whole numbers from zero on there are a table for: those of one byte."""
_BITS = 14
_MASK = (1 << _BITS) - 1


def _variable(number: int) -> bytes:
    return bytes((number & 0x7F | 0x80, number >> 7)) if number > 0x7F else bytes((number,))


_LAST = [_variable(number) for number in range(1 << _BITS)]
_MORE = [bytes((number & 0x7F | 0x80, number >> 7 | 0x80)) for number in range(1 << _BITS)]


def integer(number: int) -> bytes:
    """An integer of 64 bits, two bytes at a time.

    Raises:
        ValueError: it has more.
    """
    if number >> 14 == 0:
        return _LAST[number]
    if number >> 28 == 0:
        return _MORE[number & _MASK] + _LAST[number >> 14]
    if number >> 42 == 0:
        return _MORE[number & _MASK] + _MORE[number >> 14 & _MASK] + _LAST[number >> 28]
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("it is no integer of 64 bits")
    number &= (1 << 64) - 1
    low = _MORE[number & _MASK] + _MORE[number >> 14 & _MASK] + _MORE[number >> 28 & _MASK]
    return low + (_MORE[number >> 42 & _MASK] + _LAST[number >> 56] if number >> 56 else _LAST[number >> 42])


def short_integer(number: int) -> bytes:
    """An integer of 32 bits.

    Raises:
        ValueError: it has more.
    """
    if number >> 14 == 0:
        return _LAST[number]
    if not -(1 << 31) <= number < 1 << 31:
        raise ValueError("it is no integer of 32 bits")
    return integer(number)


def key(number: int, wire_type: int) -> bytes:
    """What stands before a field's value."""
    return integer(number << 3 | wire_type)


def numbered(number: int, value: int) -> bytes:
    """An integer with its field's number; nothing for a zero."""
    return key(number, 0) + integer(value) if value else b""


@cache
def small_numbers(before: bytes) -> list[bytes]:
    """The bytes of the numbers below `SMALL`, with what stands before them."""
    return [before + integer(number) for number in range(SMALL)]


@cache
def small_numbers_but_zero(before: bytes) -> list[bytes]:
    """The same with nothing at all for a zero."""
    return [b"", *small_numbers(before)[1:]]
