"""Many changes of a row folded into the newest one, as far as that says what a mirror is to have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.record import LANE_END, lane_of
from cdckit.tables.absent import absent_names, absent_part, absent_text
from cdckit.tables.lake.finder import one_zero
from cdckit.tables.layout import ABSENT, OLD_KEY, POSITION
from cdckit.tables.segments import Emptied

KEPT = "__cdckit_kept_"
"""What names of columns begin with that say whether the table's own value is kept."""
_ROW = "__cdckit_row"


def in_order(changes: pa.Table) -> pa.Table:
    """Changes sorted by position."""
    positions = changes.column(POSITION)
    count = len(positions)
    if count < 2 or pc.all(pc.less_equal(positions.slice(0, count - 1), positions.slice(1))).as_py():
        return changes
    return changes.take(pc.sort_indices(positions))


def remaining(changes: pa.Table, emptied: Emptied) -> pa.Table:
    """The changes that were not removed by a mark behind them."""
    if emptied.whole is not None:
        changes = changes.filter(pc.invert(_up_to(changes, emptied.whole)))
    for scope, last in emptied.shares.items():
        gone = _up_to(changes, last)
        for name, value in scope:
            column = changes.column(name)
            gone = pc.and_(gone, pc.fill_null(pc.equal(column, pa.scalar(value, column.type)), False))
        changes = changes.filter(pc.invert(gone))
    return changes


def _up_to(changes: pa.Table, last: str) -> pa.ChunkedArray:
    """Whether a row is not behind a position; of one in another lane nobody can say that."""
    positions, lane = changes.column(POSITION), lane_of(last)
    before = pc.less_equal(positions, last)
    return pc.and_(before, pc.starts_with(positions, f"{lane}{LANE_END}")) if lane else before


def newest(changes: pa.Table, key: Sequence[str], unavailable: Collection[str], text: str | None) -> pa.Table:
    """The newest change of each key; an unavailable value is looked up in the change before it.

    Args:
        changes: in order.
        key: the columns that identify a row.
        unavailable: the columns in which a value may be missing.
        text: what stands for an unavailable value; None: nothing does, and rows name what they lack.

    Returns:
        the changes, with a column of `KEPT` for each that may be unavailable.
    """
    rows = pa.array(range(changes.num_rows), pa.int64())
    numbered: dict[str, Any] = {name: one_zero(changes.column(name)) for name in key}
    numbered[_ROW] = rows
    for name in unavailable:
        numbered[KEPT + name] = pc.if_else(missing(changes, name, text), pa.scalar(None, pa.int64()), rows)
    wanted = [_ROW, *(KEPT + name for name in unavailable)]
    last = pa.table(numbered).group_by(list(key), use_threads=False).aggregate([(name, "max") for name in wanted])
    found = changes.take(last.column(f"{_ROW}_max"))
    for name in unavailable:
        known = last.column(f"{KEPT}{name}_max")
        found = found.set_column(found.schema.get_field_index(name), name, changes.column(name).take(known))
        found = found.append_column(KEPT + name, pc.is_null(known))
    return found


def absent_columns(changes: pa.Table) -> list[str]:
    """The columns that changes name as those whose values the log did not carry."""
    named = changes.column(ABSENT).unique().to_pylist()
    return sorted({name for text in named for name in absent_names(text)})


def with_absent(folded: pa.Table, unavailable: Collection[str]) -> pa.Table:
    """Folded changes that name, in place of the columns of `KEPT`, what the log did not carry in `ABSENT`."""
    kept = {name: folded.column(KEPT + name).to_pylist() for name in unavailable}
    texts = []
    for number in range(folded.num_rows):
        texts.append(absent_text([name for name, flags in kept.items() if flags[number]]))
    at = folded.schema.get_field_index(ABSENT)
    return folded.drop_columns([KEPT + name for name in unavailable]).set_column(
        at, ABSENT, pa.array(texts, pa.string())
    )


def missing(changes: pa.Table, name: str, text: str | None) -> pa.ChunkedArray:
    """Whether a row lacks the value of a column: it is named so, or the placeholder stands there."""
    named = pc.fill_null(pc.match_substring(changes.column(ABSENT), absent_part(name)), False)
    column = changes.column(name)
    if text is None or not (pa.types.is_string(column.type) or pa.types.is_binary(column.type)):
        return named
    sought = pa.scalar(text if pa.types.is_string(column.type) else text.encode(), column.type)
    return pc.or_(named, pc.fill_null(pc.equal(column, sought), False))


def keys_of(rows: pa.Table, key: Sequence[str], prefix: str = "") -> Iterator[tuple[Any, ...]]:
    """The key of each row."""
    return zip(*(rows.column(prefix + name).to_pylist() for name in key), strict=True)


def without_old_keys(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """Changes without the columns of the key before."""
    return changes.drop_columns([OLD_KEY + name for name in key if OLD_KEY + name in changes.schema.names])


def hashable(value: Any) -> Any:
    """A value as one that can be looked up."""
    if isinstance(value, list):
        return tuple(map(hashable, value))
    if isinstance(value, dict):
        return tuple((name, hashable(inner)) for name, inner in value.items())
    return value
