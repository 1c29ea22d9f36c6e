"""Generated code that turns a row, a dict out of a message, into a struct."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cdckit import Schema, Struct, struct_schema
from cdckit_ticdc.columns.column import Column

MakeRow = Callable[[Mapping[str, Any]], Struct]

_CLASSES: dict[str, type] = {
    **dict.fromkeys(("int8", "int16", "int32", "int64"), int),
    "float32": float,
    "float64": float,
    "boolean": bool,
    "string": str,
    "bytes": bytes,
    "array": list,
    "map": dict,
    "struct": Struct,
}


class MisfitError(Exception):
    """A row that has other columns than those it was expected to have."""


class ValueFault(ValueError):  # noqa: N818 - what is wrong with a value; the decoder makes an error of it
    """A value that does not fit its column."""


def row_schema(name: str, columns: Sequence[Column]) -> Schema:
    """The struct schema of rows with these columns."""
    return struct_schema(name, {column.name: column.schema for column in columns}, optional=True)


def compile_row(schema: Schema, columns: Sequence[Column]) -> MakeRow:
    """The function that makes a row of `schema` out of a dict.

    It raises `MisfitError` where the dict has not just these columns, and whatever the columns' readers raise.
    """
    scope: dict[str, Any] = {"Struct": Struct, "schema": schema, "MisfitError": MisfitError, "wrong": _wrong}
    values = [_value(place, column, scope) for place, column in enumerate(columns)]
    source = f"""
def make(d):
    if len(d) != {len(columns)}:
        raise MisfitError
    return Struct(schema, ({"".join(f"{value}, " for value in values)}))
"""
    exec(source, scope)  # noqa: S102 - generated from the columns
    made: MakeRow = scope["make"]
    return made


def _value(place: int, column: Column, scope: dict[str, Any]) -> str:
    """The expression of one value."""
    got = f"d[{column.name!r}]"
    if column.read is not None:
        scope[f"r{place}"] = column.read
        return f"(None if (v := {got}) is None else r{place}(v))" if column.schema.optional else f"r{place}({got})"
    scope[f"c{place}"] = _CLASSES[column.schema.type]
    null = " or v is None" if column.schema.optional else ""
    return f"(v if (v := {got}).__class__ is c{place}{null} else wrong({column.name!r}, v))"


def _wrong(name: str, value: Any) -> Any:
    raise ValueFault(f"column {name}: {_shown(value)} is no value of its type")


def fault_of(columns: Sequence[Column], row: Mapping[str, Any]) -> str:
    """What is wrong with a row that could not be read: the first column at fault, and why."""
    for column in columns:
        value = row.get(column.name)
        try:
            compile_row(row_schema("", [column]), [column])({column.name: value})
        except ValueFault as error:
            return str(error)
        except (ValueError, TypeError, KeyError, ArithmeticError, AttributeError) as error:
            return f"column {column.name}: {_shown(value)} cannot be read ({error})"
    return "the row cannot be read"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
