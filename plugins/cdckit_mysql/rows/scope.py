"""Names for what generated code refers to."""

from __future__ import annotations

from functools import lru_cache
from types import CodeType
from typing import Any


class Scope:
    """The names of a piece of generated code and the objects that they stand for."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._by_identity: dict[int, str] = {}

    def name(self, thing: Any) -> str:
        """A name (or, of None and truth values, the literal) for `thing`; the same for the same object."""
        if thing is None or thing is True or thing is False:
            return repr(thing)
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
