"""Names and values in the SQL that delta-rs takes (DataFusion's)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

Scope = Iterable[tuple[str, Any]]


def quoted(name: str) -> str:
    """A column's name as an identifier."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def literal(value: Any) -> str:
    """A text or a whole number as a literal."""
    if isinstance(value, int):
        return str(value)
    escaped = str(value).replace("'", "''")
    return f"'{escaped}'"


def any_of(scopes: Iterable[Scope], table: str = "") -> str:
    """Whether a row has all values of one of some scopes."""
    alternatives = (
        " and ".join(f"{table}{quoted(name)} = {literal(value)}" for name, value in scope) for scope in scopes
    )
    return " or ".join(f"({one})" for one in alternatives)


_LISTED = 1000
"""So many values are looked for by their list; of more, all rows are looked at."""


def one_of(name: str, values: Collection[Any]) -> str:
    """Whether a column has one of some values, as far as these can be written; else whether it is a row at all."""
    if len(values) > _LISTED or not all(isinstance(value, int | str) for value in values):
        return "true"
    return f"{quoted(name)} in ({', '.join(map(literal, values))})" if values else "false"


def put_values(columns: Iterable[str]) -> dict[str, str]:
    """What a merge puts into columns: the source row's, which is called `s`."""
    return {quoted(name): f"s.{quoted(name)}" for name in columns}


def kept_values(kept: Mapping[str, str]) -> dict[str, str]:
    """The same of columns whose value stays where another column of the source row says so."""
    return {
        quoted(name): f"case when s.{quoted(flag)} then t.{quoted(name)} else s.{quoted(name)} end"
        for name, flag in kept.items()
    }
