"""What reading bytes may raise that are not what they should be.

Formats are read by small functions that look at nothing twice. Each layer that goes over messages, events or answers
catches this in one place, around its loop, and raises an error of this project's with the place and the bytes.
"""

from __future__ import annotations

import struct

DAMAGE: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
)
"""Decimals that are none are an `ArithmeticError`, text in another character set is a `ValueError`."""


def reason_of(error: Exception) -> str:
    """What is wrong, in a sentence's end."""
    return f"{type(error).__name__}: {error}"
