"""How one column is read from the bytes of a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Order = Literal["<", ">"]


@dataclass(frozen=True, slots=True)
class Cell:
    """How one column is read: a part of fixed size, and for a value of variable length the bytes behind it.

    Attributes:
        format: the fixed part's letters of `struct`: the value itself, or its length.
        size: its size in bytes.
        order: its byte order.
        value: the expression of the value; `{0}`, `{1}` … are what was unpacked, `{data}` the bytes behind it.
            Empty for a column that is left out.
        length: the expression of the length of the bytes behind; None where there are none.
        long_length: the name of the function that reads a length-encoded integer of which `{0}` is the first byte; it
            is called where that is above 250. Result rows only.
    """

    format: str
    size: int
    order: Order = "<"
    value: str = ""
    length: str | None = None
    long_length: str = ""

    @property
    def count(self) -> int:
        """How many values `format` unpacks."""
        return sum(letter.isalpha() and letter != "x" for letter in self.format)

    def guarded(self, function: str) -> Cell:
        """This cell with its value made by a function of no arguments that is given to one of that name."""
        return replace(self, value=f"{function}(lambda: {self.value})") if self.value else self

    def wrapped(self, function: str) -> Cell:
        """This cell with its value passed through a function of that name."""
        return replace(self, value=f"{function}({self.value})") if self.value else self
