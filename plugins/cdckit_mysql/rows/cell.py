"""What code that reads rows is generated from: cells, one a column, and names for what they refer to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Any, Literal


class Scope:
    """The names of a piece of generated code and the objects that they stand for."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._by_identity: dict[int, str] = {}

    def name(self, thing: Any) -> str:
        """A name (or, of None and truth values, the literal) for `thing`; the same for the same object."""
        if thing is None or thing is True or thing is False:
            return repr(thing)
        # By identity, as many of these cannot be hashed, and 1, 1.0 and True are equal. `names` keeps each one alive,
        # so no id is given to another.
        known = self._by_identity.get(id(thing))
        if known is None:
            known = self._by_identity[id(thing)] = f"k{len(self.names)}"
            self.names[known] = thing
        return known

    def compile(self, source: str, function: str) -> Any:
        """The function called `function` that `source` defines."""
        names = dict(self.names)
        exec(_code(source), names)  # noqa: S102 - made of column types alone, never of data
        return names[function]


@lru_cache(maxsize=1024)
def _code(source: str) -> CodeType:
    """The code of a function, which tables that are stored alike share."""
    return compile(source, "<rows of a table>", "exec")


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
