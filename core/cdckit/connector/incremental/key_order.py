"""The order in which an incremental snapshot reads a table of an SQL database, as conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")


class KeyOrder:
    """Ranges of the columns that a table is read in the order of.

    Args:
        expressions: these, as SQL; together they are unique.
        nullable: whether one of them may be NULL; NULLs come first.

    Attributes:
        columns: what to order by.
        descending: the same, backwards.
    """

    def __init__(self, expressions: Sequence[str], *, nullable: bool) -> None:
        self.columns = ", ".join(expressions)
        self.descending = ", ".join(f"{expression} DESC" for expression in expressions)
        self._expressions = expressions
        self._nullable = nullable

    def between(self, after: Sequence[str] | None, last: Sequence[str] | None) -> str:
        """The condition for the rows behind `after`, up to `last`: keys as literals, or as placeholders.

        Without the one they are those from the beginning on, without the other those to the end; one of them is given.
        """
        behind = "" if after is None else self._compared(">", ">", after)
        up_to = "" if last is None else self._compared("<", "<=", last)
        if behind:
            return f"{behind} AND {up_to}" if up_to else behind
        nulls = "".join(f" OR {name} IS NULL" for name in self._expressions) if self._nullable else ""
        return f"({up_to}{nulls})"

    def _compared(self, before_last: str, at_last: str, key: Sequence[str]) -> str:
        """Column by column, which a server finds in the index; some do not where rows are compared as wholes."""
        *front, last = zip(self._expressions, key, strict=True)
        condition = f"{last[0]} {at_last} {last[1]}"
        for name, literal in reversed(front):
            condition = f"({name} {before_last} {literal} OR ({name} = {literal} AND {condition}))"
        return condition


def for_placeholders(after: Sequence[Value] | None, last: Sequence[Value] | None) -> list[Value]:
    """The values for the placeholders of `KeyOrder.between`: each but a key's last one stands there twice."""
    return [value for key in (after, last) if key for value in (*(each for each in key[:-1] for _ in "12"), key[-1])]
