"""Names for what generated code refers to."""

from __future__ import annotations

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

    def compile(self, source: str, function: str, label: str) -> Any:
        """The function called `function` that `source` defines; `label` stands for the file in tracebacks."""
        names = dict(self.names)
        exec(compile(source, f"<{label}>", "exec"), names)  # noqa: S102 - made of column types alone, never of data
        return names[function]
