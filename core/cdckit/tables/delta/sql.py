"""Names and values in the SQL that delta-rs takes (DataFusion's)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cdckit.tables.delta.bounds import CUT_MICROS, told_exactly, within_cut

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
"""So many values are looked for by their list; of more, by the range in which they lie."""
_EPOCH = datetime(1970, 1, 1)


def one_of(name: str, values: Collection[Any]) -> str:
    """Whether a column has one of some values, or another one of their range; "true" where they cannot be written.

    By it delta-rs leaves out the files that have none of the values.
    """
    known = [value for value in values if value is not None]
    found = [_among(quoted(name), known)] if known else []
    if len(known) < len(values):
        found.append(f"{quoted(name)} is null")
    return f"({' or '.join(found)})" if found else "false"


def _among(column: str, values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values}
    if kinds == {datetime}:
        return _moments(column, values)
    if kinds == {Decimal} and not told_exactly(*values):
        return "true"
    if len(kinds) > 1 or (written := _WRITTEN.get(kinds.pop())) is None:
        return "true"
    if len(values) <= _LISTED:
        return f"{column} in ({', '.join(map(written, values))})"
    return f"{column} between {written(min(values))} and {written(max(values))}"


def _moments(column: str, values: Sequence[datetime]) -> str:
    """The range of moments: a list would not meet bounds that were cut."""
    zone = "None" if values[0].tzinfo is None else 'Some("UTC")'
    epoch = _EPOCH.replace(tzinfo=None if values[0].tzinfo is None else UTC)
    micros = [(value - epoch) // timedelta(microseconds=1) for value in values]
    if not within_cut(micros):
        return "true"
    ends = (f"arrow_cast({end}, 'Timestamp(Microsecond, {zone})')" for end in _widened(min(micros), max(micros)))
    return f"{column} between {' and '.join(ends)}"


def _widened(least: int, greatest: int) -> tuple[int, int]:
    return least - CUT_MICROS, greatest + CUT_MICROS


def _decimal(value: Decimal) -> str:
    _, _, exponent = value.as_tuple()
    return f"arrow_cast('{value:f}', 'Decimal128(38, {-int(exponent)})')"


_WRITTEN: Mapping[type, Callable[[Any], str]] = {
    bool: literal,
    int: literal,
    str: literal,
    date: lambda value: f"date '{value}'",
    Decimal: _decimal,
}
"""How values of a type are written."""


def put_values(columns: Iterable[str]) -> dict[str, str]:
    """What a merge puts into columns: the source row's, which is called `s`."""
    return {quoted(name): f"s.{quoted(name)}" for name in columns}


def kept_values(kept: Mapping[str, str]) -> dict[str, str]:
    """The same of columns whose value stays where another column of the source row says so."""
    return {
        quoted(name): f"case when s.{quoted(flag)} then t.{quoted(name)} else s.{quoted(name)} end"
        for name, flag in kept.items()
    }
