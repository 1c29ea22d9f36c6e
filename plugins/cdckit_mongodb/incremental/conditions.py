"""Conditions of signals: query documents that are written by others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymongo.errors import ExecutionTimeout

from cdckit.connector.incremental import UnreadableError

REFUSED = frozenset({"$where", "$function", "$accumulator"})
"""They run JavaScript at the server."""
_DEEPEST = 50


def refuse_code(query: Any, depth: int = 0) -> None:
    """Looks for operators that run code.

    Raises:
        ValueError: there is one; the message names it.
    """
    if depth > _DEEPEST:
        raise ValueError(f"it is nested more than {_DEEPEST} deep")
    members = query.items() if isinstance(query, dict) else enumerate(query) if isinstance(query, list) else ()
    for name, member in members:
        if name in REFUSED:
            raise ValueError(f"{name} is refused; signal.conditions=free takes whatever the server does")
        refuse_code(member, depth + 1)


@contextmanager
def in_time(name: str, milliseconds: int) -> Iterator[None]:
    """Reads what a signal asks for of a collection.

    Raises:
        UnreadableError: the server has ended it, since it took so many milliseconds.
    """
    try:
        yield
    except ExecutionTimeout as error:
        message = (
            f"reading what a signal asks for of {name} took longer than signal.statement.timeout.ms={milliseconds}"
        )
        raise UnreadableError(message, "SQL_EXCEPTION") from error
