"""Keeps a table equal to its source: of each key the newest row, none for a deleted one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.errors import SinkError
from cdckit.tables.absent import absent_part
from cdckit.tables.definitions import Fitting
from cdckit.tables.key_follower import Follower
from cdckit.tables.lake.arrow_types import commented
from cdckit.tables.lake.folding import (
    KEPT,
    absent_columns,
    in_order,
    keys_of,
    newest,
    remaining,
    with_absent,
    without_old_keys,
)
from cdckit.tables.lake.pyarrow_rows import schema_of, typed_batches, typed_table
from cdckit.tables.lake.rows import TableRows
from cdckit.tables.lake.target import LakeTarget, Merge
from cdckit.tables.lake.unkeyed import Unkeyed
from cdckit.tables.layout import ABSENT, OLD_KEY, OP, Layout
from cdckit.tables.segments import Emptied
from cdckit.tables.target import BatchId, Columns

MARKS = {OP: "string", ABSENT: "string"}
"""The columns that say what a row does."""


class Mirror:
    """A table and what one batch does to it.

    Args:
        target: the table.
        columns: its columns, all of which the rows may have.
        batch: the number of what is written.
        placeholder: what stands for an unavailable value.
        fitting: puts rows of other definitions into the columns.
        comments: what columns are for that come with rows which replace all others; None: as in the table.
    """

    def __init__(
        self,
        target: LakeTarget,
        columns: Columns,
        batch: BatchId,
        placeholder: str,
        fitting: Fitting,
        comments: Mapping[str, str] | None = None,
    ) -> None:
        self.target = target
        self.columns = columns
        self.batch = batch
        self._placeholder = placeholder
        self._fitting = fitting
        self._comments = comments

    def write(self, rows: TableRows, emptied: Emptied) -> None:
        """Brings the table to the state behind a batch.

        Args:
            rows: the batch's rows of this table.
            emptied: what was emptied within it.
        """
        layouts = [(part.position, self._fitting.shown(part.position, part.layout)) for part in rows.parts]
        key = key_of(layouts)
        for name in emptied_columns(emptied):
            self._require(name)
        if rows.spilled and emptied.whole is not None and key:
            self._replace_by_files(rows, emptied)
        elif not layouts:
            self._empty(emptied)
        else:
            self._change(rows, [layout for _, layout in layouts], key, emptied)

    def waits(self, rows: TableRows, emptied: Emptied) -> tuple[str, ...]:
        """The key of rows that may wait to be merged with others; nothing where they may not.

        Rows without a key do not, nor those whose old values are to be looked up, nor any where some were removed.
        """
        if emptied or rows.spilled or not rows.parts or any(part.layout.moved for part in rows.parts):
            return ()
        return key_of([(part.position, self._fitting.shown(part.position, part.layout)) for part in rows.parts])

    def folded(self, rows: TableRows, key: Sequence[str]) -> pa.Table:
        """The newest change of each key, which names the columns whose values stay."""
        types = {**self.columns, **MARKS}
        changes = in_order(typed_table(rows, types, self._fitting))
        shown = (self._fitting.shown(part.position, part.layout) for part in rows.parts)
        unavailable = sorted({name for layout in shown for name in layout.unavailable})
        return with_absent(newest(changes, key, unavailable, self._placeholder), unavailable)

    def merge(self, changes: pa.Table, key: Sequence[str]) -> None:
        """Puts changes that have waited."""
        unavailable = absent_columns(changes)
        self._merge(newest(in_order(changes), key, unavailable, None), key, unavailable, Emptied(None, {}))

    def _require(self, name: str) -> None:
        if name not in self.columns:
            raise SinkError(
                f"table {self.target}: rows of one source table were removed, and the column '{name}', which tells "
                "them apart, is not in the table: write to another place, with a new state folder"
            )

    def _empty(self, emptied: Emptied) -> None:
        if emptied.whole is not None:
            self._replace(schema_of(self.columns).empty_table())
        elif emptied:
            self.target.delete(emptied.shares, self.batch)

    def _change(self, rows: TableRows, layouts: Sequence[Layout], key: Sequence[str], emptied: Emptied) -> None:
        moved = bool(key) and any(layout.moved for layout in layouts)
        old_key = {OLD_KEY + name: self.columns[name] for name in key if moved}
        types = {**self.columns, **MARKS, **old_key}
        changes = in_order(remaining(typed_table(rows, types, self._fitting), emptied))
        unavailable = sorted({name for layout in layouts for name in layout.unavailable})
        if moved:
            changes = self._with_old_rows(changes, key, unavailable, emptied)
        if key:
            folded = newest(changes, key, unavailable, self._placeholder)
            if emptied.whole is not None:
                self._replace(folded.filter(pc.not_equal(folded.column(OP), "d")).select(list(self.columns)))
            else:
                self._merge(folded, key, unavailable, emptied)
        elif emptied.whole is not None:
            self._replace(
                changes.take(pa.array(Unkeyed(changes, self.columns).put, pa.int64())).select(list(self.columns))
            )
        elif emptied:
            raise SinkError(f"table {self.target}: rows of one source table were removed, and its rows have no key")
        else:
            self._merge_unkeyed(changes)

    # -- all rows

    def _replace(self, rows: pa.Table) -> None:
        """Makes these rows the only ones."""
        schema = self._with_comments(rows.schema)
        with self.target.finding(rows.to_batches):
            self.target.replace(rows.cast(schema), self.batch)

    def _replace_by_files(self, rows: TableRows, emptied: Emptied) -> None:
        """The same of so many rows that they are not held together: a snapshot's, each of which has its own key."""
        types = {**self.columns, **MARKS}
        schema = self._with_comments(schema_of(self.columns))

        def kept() -> Iterator[pa.RecordBatch]:
            for batch in typed_batches(rows, types, self._fitting):
                left = remaining(pa.Table.from_batches([batch]), emptied)
                left = left.filter(pc.not_equal(left.column(OP), "d")).select(schema.names)
                yield from left.cast(schema).to_batches()

        with self.target.finding(kept):
            self.target.replace(pa.RecordBatchReader.from_batches(schema, kept()), self.batch)

    def _with_comments(self, schema: pa.Schema) -> pa.Schema:
        """Columns with the comments that they have in the table, or are to have."""
        told = {field.name: field.metadata for field in self.target.schema()}
        known = pa.schema([pa.field(field.name, field.type, metadata=told.get(field.name)) for field in schema])
        return known if self._comments is None else pa.schema(commented(known, self._comments))

    # -- rows by their key

    def _merge(self, folded: pa.Table, key: Sequence[str], unavailable: Sequence[str], emptied: Emptied) -> None:
        changes = folded.drop_columns([ABSENT])
        with self.target.finding(partial(_whole, changes)):
            self.target.merge(Merge(changes, key, unavailable, emptied.shares), self.batch)

    def _with_old_rows(
        self, changes: pa.Table, key: Sequence[str], unavailable: Sequence[str], emptied: Emptied
    ) -> pa.Table:
        """The changes; of keys that took part in a key change only the last one each, with the old rows' values."""
        news, olds = list(keys_of(changes, key)), list(keys_of(changes, key, OLD_KEY))
        moves = [operation == "m" for operation in changes.column(OP).to_pylist()]
        touched = {one for new, old, moved in zip(news, olds, moves, strict=True) if moved for one in (new, old)}
        mask = pa.array([one in touched for one in news], pa.bool_())
        last = Follower(changes.filter(mask).combine_chunks(), key, unavailable, self._placeholder).last()
        if emptied.whole is None:
            last = self._looked_up(last, key, unavailable, emptied)
        others = changes.filter(pc.invert(mask))
        return in_order(pa.concat_tables([without_old_keys(others, key), without_old_keys(last, key)]))

    def _looked_up(self, last: pa.Table, key: Sequence[str], unavailable: Sequence[str], emptied: Emptied) -> pa.Table:
        """The changes with the values that the table has of rows under their old keys."""
        wanted = {
            old: number
            for number, (old, absent) in enumerate(
                zip(keys_of(last, key, OLD_KEY), last.column(ABSENT).to_pylist(), strict=True)
            )
            if absent is not None
        }
        present = self._present(wanted, key, unavailable, emptied)
        columns = {name: last.column(name).to_pylist() for name in (*unavailable, ABSENT)}
        for old, row in present.items():
            number = wanted[old]
            absent = columns[ABSENT][number]
            for name in unavailable:
                if absent_part(name) in absent:
                    columns[name][number] = row[name]
            columns[ABSENT][number] = None
        for name, values in columns.items():
            at = last.schema.get_field_index(name)
            last = last.set_column(at, last.schema.field(at), pa.array(values, last.schema.field(at).type))
        return last

    def _present(
        self, wanted: Mapping[Any, int], key: Sequence[str], unavailable: Sequence[str], emptied: Emptied
    ) -> dict[Any, dict[str, Any]]:
        """The table's rows of some keys, but for those that are removed."""
        scopes = [dict(scope) for scope in emptied.shares]
        rows = {}
        names = [*key, *unavailable, *emptied_columns(emptied)]
        for batch in self.target.candidates(names, key[0], {old[0] for old in wanted}):
            for row in batch.to_pylist():
                place = tuple(row[name] for name in key)
                gone = any(all(row[name] == value for name, value in scope.items()) for scope in scopes)
                if place in wanted and not gone:
                    rows[place] = row
        return rows

    # -- rows without a key

    def _merge_unkeyed(self, changes: pa.Table) -> None:
        """Adds rows, and for each deleted one removes one that is equal to it."""
        if pc.all(pc.not_equal(changes.column(OP), "d")).as_py():
            added = changes.select(list(self.columns))
            with self.target.finding(added.to_batches):
                self.target.append(added, self.batch)
            return
        net = Unkeyed(changes, self.columns)
        put = changes.take(pa.array(net.put, pa.int64())).select(list(self.columns))
        with self.target.finding(put.to_batches):
            self.target.exchange(put, list(net.found(self.target.scan)), self.batch)


def key_of(layouts: Sequence[tuple[str, Layout]]) -> tuple[str, ...]:
    """The key that rows have: that of the newest whole ones."""
    whole = [(position, layout) for position, layout in layouts if layout.kind == "rows"]
    if whole:
        return max(whole, key=lambda one: one[0])[1].key
    return next((layout.key for _, layout in layouts if layout.key), ())


def _whole(changes: pa.Table) -> list[pa.RecordBatch]:
    """The rows that are put and have all their values: what the table keeps of a row is not known here."""
    kept = [changes.column(name) for name in changes.schema.names if name.startswith(KEPT)]
    chosen = reduce(pc.and_not, kept, pc.not_equal(changes.column(OP), "d"))
    found: list[pa.RecordBatch] = changes.filter(chosen).to_batches()
    return found


def emptied_columns(emptied: Emptied) -> list[str]:
    """The columns that tell the rows of emptied source tables from others."""
    return [name for scope in emptied.shares for name, _ in scope]
