"""How delta-rs changes rows that are there: by MERGE, in one commit that carries the batch's number."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.table import TableMerger

from cdckit.tables.delta.bounds import EXACT_DIGITS, told_exactly, within_cut
from cdckit.tables.delta.commits import committed_as
from cdckit.tables.delta.rounding import files_of
from cdckit.tables.delta.sql import any_of, kept_values, literal, put_values, quoted
from cdckit.tables.lake.folding import KEPT
from cdckit.tables.lake.target import Ending, Merge
from cdckit.tables.layout import END, FROM, OP, POSITION, TO
from cdckit.tables.target import BatchId

_INSTANT = 'Timestamp(Microsecond, Some("UTC"))'
"""The type of times, in DataFusion's words."""


def merged(table: DeltaTable, merge: Merge, batch: BatchId) -> None:
    """Puts the newest row of each key, removes the deleted ones."""
    changes = merge.changes
    nulls = any(changes.column(name).null_count for name in merge.key)
    put = put_values(name for name in changes.schema.names if name != OP and not name.startswith(KEPT))
    kept = kept_values({name: KEPT + name for name in merge.kept})
    same = " and ".join(_equal(name, nulls=nulls) for name in merge.key)
    made = (
        _merger(table, changes, same, batch, whole=not all(_bounded(changes.column(name)) for name in merge.key))
        .when_matched_delete(f"s.{OP} = 'd'")
        .when_matched_update({**put, **kept})
        .when_not_matched_insert(put, predicate=f"s.{OP} <> 'd'")
    )
    for ending in merge.endings:
        made = made.when_not_matched_by_source_update(*_ended(ending))
    if merge.gone:
        made = made.when_not_matched_by_source_delete(any_of(merge.gone, "t."))
    made.execute()


def _ended(ending: Ending) -> tuple[dict[str, str], str]:
    """What versions without an end get, and which ones."""
    time = "null" if ending.micros is None else f"greatest(t.{quoted(FROM)}, arrow_cast({ending.micros}, '{_INSTANT}'))"
    concerned = [f"t.{quoted(END)} is null", *([any_of([ending.scope], "t.")] if ending.scope else [])]
    return {quoted(TO): time, quoted(END): literal(ending.position)}, " and ".join(concerned)


def exchanged(table: DeltaTable, put: pa.Table, gone: Sequence[str], batch: BatchId) -> None:
    """Adds rows, and removes those of some positions."""
    removed = pa.table(
        [
            pa.array(gone, pa.string()) if field.name == POSITION else pa.nulls(len(gone), field.type)
            for field in put.schema
        ],
        schema=put.schema,
    )
    changes = pa.concat_tables([_with(put, "c"), _with(removed, "d")])
    (
        _merger(table, changes, _equal(POSITION), batch)
        .when_matched_delete(f"s.{OP} = 'd'")
        .when_not_matched_insert(put_values(put.schema.names), predicate=f"s.{OP} <> 'd'")
        .execute()
    )


def _with(rows: pa.Table, operation: str) -> pa.Table:
    return rows.append_column(OP, pa.repeat(pa.scalar(operation), rows.num_rows))


def _bounded(keys: pa.ChunkedArray) -> bool:
    """Whether the files that have some keys are known by their bounds."""
    if pa.types.is_timestamp(keys.type):
        return within_cut(pc.unique(keys.cast(pa.int64())).drop_null().to_pylist())
    if not pa.types.is_decimal(keys.type) or keys.type.precision <= EXACT_DIGITS:
        return True
    ends = pc.min_max(keys).as_py().values()
    return told_exactly(*(end for end in ends if end is not None))


def _merger(table: DeltaTable, changes: pa.Table, same: str, batch: BatchId, *, whole: bool = False) -> TableMerger:
    """What changes a table.

    Args:
        table: the table.
        changes: what is put, called `s`.
        same: whether two rows are the same one.
        batch: the number of what is written.
        whole: whether all files are read, and not those alone in whose bounds a row of the changes lies.
    """
    return table.merge(
        changes,
        same,
        source_alias="s",
        target_alias="t",
        streamed_exec=whole,  # then delta-rs does not know the rows before it chooses files
        writer_properties=files_of(table, changes),
        commit_properties=committed_as(batch),
    )


def _equal(name: str, *, nulls: bool = False) -> str:
    how = "is not distinct from" if nulls else "="
    return f"(t.{quoted(name)} {how} s.{quoted(name)})"  # what is not distinct would take in an `and` behind it
