"""One table of the sink: its columns follow the source's, and a batch's rows go into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from cdckit import MarkKind
from cdckit.tables.context import TableContext
from cdckit.tables.evolution import Evolution
from cdckit.tables.policy import Policy
from cdckit.tables.segments import chosen, emptied, refuse_unfollowed
from cdckit.tables.sources import Sources
from cdckit.tables.target import BatchId
from cdckit_delta.arrow_types import arrow_schema
from cdckit_delta.config import DeltaConfig
from cdckit_delta.mirror import Mirror
from cdckit_delta.rows import TableRows
from cdckit_delta.target import DeltaTarget

BEGINS = frozenset({MarkKind.SNAPSHOT_BEGIN, MarkKind.CREATE, MarkKind.RENAME})
"""With these a source table's rows are all told from here on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asks for of single source tables, as a `TableContext` gives it."""

    read_again: Mapping[str, str]
    accepted: Mapping[str, str]


class LakeTable:
    """One table.

    Args:
        target: where it is.
        config: the sink's.
        context: the runner's.
    """

    def __init__(self, target: DeltaTarget, config: DeltaConfig, context: TableContext) -> None:
        self.target = target
        self._config = config
        self._context = context
        self._mirrors = config.mode == "mirror"
        self._policy = Policy(self._mirrors, config.behavior, context.marks)
        self._evolution = Evolution(target, self._policy)
        self._sources = Sources(target, context.name)
        self._begun = False

    def write(self, rows: TableRows, batch: BatchId, asked: Asked) -> None:
        """Takes a batch's rows.

        Raises:
            SinkError: it cannot, or is not to.
        """
        evolution = self._evolution
        begun = {mark.table for mark in rows.marks if mark.kind is MarkKind.SNAPSHOT_BEGIN}
        if self._mirrors and self._context.marks:
            self._require_begun(rows)
        if awaited := evolution.awaits(asked.read_again) - begun:
            rows = rows.without(awaited)  # whatever they say, others replace them
        evolution.follow(rows.layouts, rows.marks, asked.accepted)
        if self._mirrors:
            self._mirror(rows, batch, asked.accepted)
        elif rows.parts:
            self._append(rows, batch)
        evolution.begun({name: one for name, one in asked.read_again.items() if name in begun})

    def _require_begun(self, rows: TableRows) -> None:
        """Makes sure that a mirror which is there was begun by this pipeline, or is begun with these rows."""
        if not self._begun and self._evolution.present():
            self._sources.begin(here=any(mark.kind in BEGINS for mark in rows.marks))
            self._begun = True

    def _append(self, rows: TableRows, batch: BatchId) -> None:
        columns = self._evolution.columns
        schema, batches = arrow_schema(columns), rows.typed(columns, self._evolution.fitting)
        if rows.spilled:
            self.target.append(pa.RecordBatchReader.from_batches(schema, batches), batch)
        else:
            self.target.append(pa.Table.from_batches(list(batches), schema), batch)

    def _mirror(self, rows: TableRows, batch: BatchId, accepted: Mapping[str, str]) -> None:
        evolution, target = self._evolution, self.target
        marks = sorted(
            (mark for mark in rows.marks if mark.told or not self._context.marks), key=lambda mark: mark.position
        )
        marks, used = chosen(marks, self._policy.behavior, evolution.accepts(accepted), target)
        refuse_unfollowed(marks, target)
        if not evolution.present():
            return  # whatever happened to it, it has never had a row
        here = {part.layout.source for part in rows.parts if part.layout.kind == "rows"}
        self._sources.add(here)
        gone = emptied(marks, self._sources.names, target)
        if rows.parts or gone:
            text = self._config.unavailable_value_placeholder
            Mirror(target, evolution.columns, batch, text, evolution.fitting).write(rows, gone)
        if gone.whole is not None:
            self._sources.restart(here)
            evolution.written()
        evolution.use({name: accepted[name] for name in used})
