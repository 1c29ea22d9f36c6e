"""Keeps every version that rows of a source have had: a batch's changes, and what of the table they end."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cdckit.api.marks import EMPTYING, MarkKind
from cdckit.tables.definitions import Fitting
from cdckit.tables.lake.alike import Alike
from cdckit.tables.lake.buckets import MOST_ROWS, Buckets
from cdckit.tables.lake.finder import Finder
from cdckit.tables.lake.folding import hashable, in_order, keys_of
from cdckit.tables.lake.mirror import MARKS, key_of
from cdckit.tables.lake.pyarrow_rows import schema_of, typed_batches
from cdckit.tables.lake.rows import TableRows
from cdckit.tables.lake.target import Ending, LakeTarget, Merge
from cdckit.tables.lake.timeline import Changed, Timeline
from cdckit.tables.layout import END, FROM, OLD_KEY, OP, POSITION, TO
from cdckit.tables.marks import Mark
from cdckit.tables.target import BatchId, Columns

_OURS = frozenset({FROM, TO, END, POSITION})
"""The columns that say nothing about a row."""
_MERGED_BYTES = 64 << 20
"""So many bytes of versions that end are merged together."""


class History:
    """A table and what one batch does to it.

    Args:
        target: the table.
        columns: its columns, all of which the rows may have.
        batch: the number of what is written.
        placeholder: what stands for an unavailable value.
        fitting: puts rows of other definitions into the columns.
    """

    def __init__(
        self, target: LakeTarget, columns: Columns, batch: BatchId, placeholder: str, fitting: Fitting
    ) -> None:
        self.target = target
        self.columns = columns
        self.batch = batch
        self._placeholder = placeholder
        self._fitting = fitting
        self._schema = target.schema().remove_metadata()
        self._schema = pa.schema([self._schema.field(name).remove_metadata() for name in columns])

    def write(self, rows: TableRows, endings: Sequence[Ending]) -> None:
        """Brings the table to what is known behind a batch.

        Args:
            rows: the batch's rows of this table.
            endings: what ends versions besides, in order.
        """
        parts = _Parts(rows, self._fitting)
        if not rows.parts:
            self._merge(self._none(), endings)
        elif not rows.spilled:
            self._change(parts, endings)
        elif parts.reads and not self.target.has_rows:
            with self.target.finding(partial(self._read, parts)):
                self._append(self._read(parts))
        else:
            self._change_by_files(parts, endings)

    # -- few rows

    def _change(self, parts: _Parts, endings: Sequence[Ending]) -> None:
        batches = list(self._typed(parts))
        changes = in_order(pa.Table.from_batches(batches))
        standing = self._standing(changes, parts, endings)
        changed = self._changed(standing, changes, parts, endings)
        with self.target.finding(changed.new.to_batches):
            self._put(changed, endings)

    def _put(self, changed: Changed, endings: Sequence[Ending]) -> None:
        if endings:  # what is not among the rows that are merged ends
            self._merge(pa.concat_tables([changed.new, changed.ended, changed.kept]), endings)
        elif changed.ended.num_rows:
            self._merge(pa.concat_tables([changed.new, changed.ended]), ())
        elif changed.new.num_rows:
            self.target.append(changed.new, self.batch)

    def _changed(self, standing: pa.Table, changes: pa.Table, parts: _Parts, endings: Sequence[Ending]) -> Changed:
        rows = pa.concat_tables([standing, changes], promote_options="default").select(changes.schema.names)
        rows = rows.combine_chunks()
        places = list(self._places(rows, parts))
        olds: Sequence[Hashable | None] = [None] * rows.num_rows
        if parts.moved:
            olds = list(keys_of(rows, parts.key, OLD_KEY))
        plain = rows.drop_columns([name for name in rows.schema.names if name.startswith(OLD_KEY)])
        return Timeline(
            plain,
            standing.num_rows,
            places,
            olds,
            endings,
            self._content(parts) if parts.key else (),
            parts.unavailable,
            self._placeholder,
            contents=None if parts.key else list(self._contents(rows, parts)),
        ).changed()

    def _places(self, rows: pa.Table | pa.RecordBatch, parts: _Parts) -> Iterator[Hashable]:
        """What tells rows from others: the key, or all that they hold, as snapshot and log both tell it."""
        if parts.key:
            yield from zip(*(rows.column(name).to_pylist() for name in parts.key), strict=True)
            return
        alike = Alike(self._schema, self._content(parts))
        yield from map(alike.of, self._contents(rows, parts)) if alike.varies else self._contents(rows, parts)

    def _contents(self, rows: pa.Table | pa.RecordBatch, parts: _Parts) -> Iterator[tuple[Any, ...]]:
        """All that rows hold."""
        columns = (map(hashable, rows.column(name).to_pylist()) for name in self._content(parts))
        return zip(*columns, strict=True)

    def _content(self, parts: _Parts) -> list[str]:
        return [name for name in self._schema.names if name in parts.content]

    def _standing(self, changes: pa.Table, parts: _Parts, endings: Sequence[Ending]) -> pa.Table:
        """The table's versions without an end that the changes may concern."""
        if not self.target.has_rows:
            return self._schema.empty_table()
        if parts.key:
            return pa.Table.from_batches(list(self._standing_by_key(changes, parts)), self._schema)
        removes = pc.any(pc.equal(changes.column(OP), "d")).as_py() or any(ending.reread for ending in endings)
        found = self._standing_by_content(changes, parts) if removes else ()
        return in_order(pa.Table.from_batches(list(found), self._schema))

    def _standing_by_key(self, changes: pa.Table, parts: _Parts) -> Iterator[pa.RecordBatch]:
        keys = changes.select(list(parts.key))
        if parts.moved:
            moved = changes.filter(pc.equal(changes.column(OP), "m"))
            olds = moved.select([OLD_KEY + name for name in parts.key]).rename_columns(list(parts.key))
            keys = pa.concat_tables([keys, olds])
        keys = keys.group_by(list(parts.key), use_threads=False).aggregate([]).combine_chunks()
        finder, first = Finder(keys, parts.key), keys.column(parts.key[0])
        for batch in self.target.without_end(parts.key[0], set(first.to_pylist())):
            yield batch.select(self._schema.names).filter(pc.is_valid(finder.rows(batch)))

    def _standing_by_content(self, changes: pa.Table, parts: _Parts) -> Iterator[pa.RecordBatch]:
        wanted = set(self._places(changes, parts))
        for batch in self.target.without_end():
            found = [place in wanted for place in self._places(batch, parts)]
            yield batch.select(self._schema.names).filter(pa.array(found, pa.bool_()))

    # -- so many rows that they are not held together

    def _change_by_files(self, parts: _Parts, endings: Sequence[Ending]) -> None:
        """Part by part of the keys; versions that end are merged first, since new ones are added whatever happened."""
        number = parts.rows.count // MOST_ROWS + 1
        with Buckets(number) as changes, Buckets(number) as standing, Buckets(1) as new:
            for batch in self._typed(parts):
                changes.add(batch, self._places(batch, parts))
            for batch in self.target.without_end():
                standing.add(batch.select(self._schema.names), self._places(batch, parts))
            ended = self._schema.empty_table()
            part = 0
            for at in range(number):
                rows = changes.table(at, self._typed_schema(parts))
                changed = self._changed(in_order(standing.table(at, self._schema)), in_order(rows), parts, endings)
                for made in changed.new.to_batches():
                    new.add(made, None)
                ended = pa.concat_tables([ended, changed.ended])
                if ended.nbytes >= _MERGED_BYTES:
                    part += 1
                    self._merge_part(ended, part)
                    ended = self._schema.empty_table()
            if ended.num_rows:
                self._merge_part(ended, part + 1)
            self._append(new.batches(0))

    def _merge_part(self, ended: pa.Table, part: int) -> None:
        batch = self.batch
        self._merge(ended, (), BatchId(f"{batch.application}/{part}", batch.number))

    # -- commits

    def _append(self, batches: Iterator[pa.RecordBatch]) -> None:
        self.target.append(pa.RecordBatchReader.from_batches(self._schema, batches), self.batch)

    def _merge(self, versions: pa.Table, endings: Sequence[Ending], batch: BatchId | None = None) -> None:
        """A version is known by where it begins."""
        put = versions.append_column(OP, pa.repeat(pa.scalar("c"), versions.num_rows))
        self.target.merge(Merge(put, (POSITION,), (), (), endings), batch or self.batch)

    def _none(self) -> pa.Table:
        return self._schema.empty_table()

    # -- columns

    def _typed_schema(self, parts: _Parts) -> pa.Schema:
        """The table's columns, and those that say what a row does."""
        olds = [pa.field(OLD_KEY + name, self._schema.field(name).type) for name in parts.key if parts.moved]
        return pa.schema([*self._schema, *schema_of(MARKS), *olds])

    def _read(self, parts: _Parts) -> Iterator[pa.RecordBatch]:
        """What a snapshot has read, each row a version."""
        return (batch.drop_columns([*MARKS]) for batch in self._typed(parts))

    def _typed(self, parts: _Parts) -> Iterator[pa.RecordBatch]:
        schema = self._typed_schema(parts)
        olds = {OLD_KEY + name: self.columns[name] for name in parts.key if parts.moved}
        for batch in typed_batches(parts.rows, {**self.columns, **MARKS, **olds}, self._fitting):
            yield batch.cast(schema)


class _Parts:
    """What the rows of a batch have in common, by the names of the table's columns.

    Args:
        rows: the rows.
        fitting: puts them into the columns.

    Attributes:
        key: the columns that identify a row.
        content: the columns that say what a row holds.
        unavailable: those in which a value may be missing.
        moved: whether there are rows that lack values and had another key before.
        reads: whether all were read by a snapshot.
    """

    def __init__(self, rows: TableRows, fitting: Fitting) -> None:
        self.rows = rows
        layouts = [(part.position, fitting.shown(part.position, part.layout)) for part in rows.parts]
        self.key = key_of(layouts)
        whole = [layout for _, layout in layouts if layout.kind == "rows"]
        self.content = {name for layout in whole for name, _ in layout.columns} - _OURS
        self.unavailable = sorted({name for _, layout in layouts for name in layout.unavailable})
        self.moved = bool(self.key) and any(layout.moved for _, layout in layouts)
        self.reads = all(set(layout.ops) <= {"r"} for _, layout in layouts)


def endings_of(marks: Sequence[Mark]) -> list[Ending]:
    """What marks in order end; those of one source table that has a target to itself concern all rows."""
    found: list[Ending] = []
    for position, group in groupby(marks, key=attrgetter("position")):
        here = [mark for mark in group if mark.kind in EMPTYING]
        whole = [mark for mark in here if not mark.scope]
        for mark in whole[:1] or here:
            reread = any(one.kind is MarkKind.SNAPSHOT_BEGIN for one in here)
            micros = None if mark.made_ms is None else mark.made_ms * 1000
            found.append(Ending(position, micros, tuple(sorted(mark.scope.items())), reread))
    return found
