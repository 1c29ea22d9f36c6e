"""The range in which a batch's keys lie, as literals: by them Delta leaves out the files that have none of the keys.

A merge's join alone does not tell it that: which keys the batch has is known once it is read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

from pyspark.sql import Column, DataFrame, functions as f

from cdckit.tables.definitions import Fitting
from cdckit.tables.delta.bounds import EXACT_DIGITS
from cdckit.tables.layout import OLD_KEY, OP
from cdckit.tables.target import Columns, quoted
from cdckit_spark.rows import TableRows

_INSTANT = "timestamp"
_ORDERED = re.compile(r"(?:tiny|small|big)?int|date|timestamp(?:_ntz)?|string|decimal\(\d+,\d+\)")
"""The types of which a file's statistics have bounds that are compared as the values are."""
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_EXACTLY = Context(prec=80)


def key_range(rows: TableRows, key: Sequence[str], columns: Columns, fitting: Fitting, table: str) -> Column | None:
    """Whether a row of a table lies in the range of the rows' keys; None where these have none.

    Of a key of several columns the first one counts that has an order. Keys that rows had before are among those of
    their deletes.

    Args:
        rows: of a batch.
        key: the columns that identify a row.
        columns: the table's.
        fitting: puts rows of other definitions into the columns.
        table: what the table is called, with a dot.
    """
    if (name := _first_ordered(key, columns)) is None:
        return None
    kind = columns[name]
    return _within(rows.typed({name: kind}, fitting), name, f.col(f"{table}{quoted(name)}"), kind)


def old_key_range(rows: TableRows, key: Sequence[str], columns: Columns, fitting: Fitting) -> Column | None:
    """Whether a row of the table lies in the range of the keys that rows had before; None where these have none.

    Args: as `key_range`.
    """
    if (name := _first_ordered(key, columns)) is None:
        return None
    kind, old = columns[name], f"{OLD_KEY}{name}"
    moved = rows.typed({old: kind, OP: columns[OP]}, fitting).where(f.col(OP) == "m")
    return _within(moved, old, f.col(quoted(name)), kind)


def _first_ordered(key: Sequence[str], columns: Columns) -> str | None:
    return next((name for name in key if _ORDERED.fullmatch(columns[name])), None)


def _within(rows: DataFrame, name: str, place: Column, kind: str) -> Column | None:
    """Whether a column of a table is between the least and the greatest value that rows have in another one."""
    value = f.col(quoted(name))
    told = f.unix_micros(value) if kind == _INSTANT else value
    # A job of its own, as the condition has to be there before the table is read: it decodes this one column alone, of
    # packets that are kept already.
    [(least, greatest, nulls)] = rows.agg(
        f.min(told).cast("string"), f.max(told).cast("string"), f.count(f.when(value.isNull(), 1))
    ).collect()
    if nulls or least is None:
        return None
    if decimal := _DECIMAL.fullmatch(kind):
        least, greatest = _widened(least, greatest, *map(int, decimal.groups()))
    return place.between(_literal(least, kind), _literal(greatest, kind))


def _literal(text: str, kind: str) -> Column:
    """A value of just this type, as Spark makes it once: a cast of the column would tell Delta nothing of files."""
    return f.timestamp_micros(f.lit(int(text))) if kind == _INSTANT else f.lit(text).cast(kind)


def _widened(least: str, greatest: str, digits: int, scale: int) -> tuple[str, str]:
    """A range of decimals that meets each file with a value of it, though the file's bounds may be rounded."""
    if digits <= EXACT_DIGITS:
        return least, greatest
    context, share = _EXACTLY, Decimal(1).scaleb(-EXACT_DIGITS)
    last, most = Decimal(1).scaleb(-scale), Decimal(10**digits - 1).scaleb(-scale, context)
    low, high = Decimal(least), Decimal(greatest)
    low = context.subtract(low, context.multiply(low.copy_abs(), share)).quantize(last, ROUND_FLOOR, context)
    high = context.add(high, context.multiply(high.copy_abs(), share)).quantize(last, ROUND_CEILING, context)
    return f"{max(low, most.copy_negate()):f}", f"{min(high, most):f}"
