"""Numbers of four bytes, of which MySQL and MariaDB print six digits where rows are read, and logs tell all."""

from __future__ import annotations

from ctypes import c_float


def six_digits(number: float) -> str:
    """The number as a server prints it; the same for the number that is read of that."""
    return f"{c_float(number).value:.6g}"
