"""One table of the sink: its columns follow the source's, and a batch's rows go into it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from cdckit import MarkKind
from cdckit.tables.context import TableContext
from cdckit.tables.evolution import Evolution
from cdckit.tables.lake.appending import append
from cdckit.tables.lake.deferred import DeferredChanges
from cdckit.tables.lake.history import History, endings_of
from cdckit.tables.lake.mirror import Mirror
from cdckit.tables.lake.options import LakeOptions
from cdckit.tables.lake.rows import TableRows
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.logged_marks import Logged
from cdckit.tables.marks import Mark
from cdckit.tables.policy import Policy
from cdckit.tables.segments import Emptied, chosen, emptied
from cdckit.tables.sources import Sources, origin
from cdckit.tables.target import BatchId

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

    def __init__(self, target: LakeTarget, config: LakeOptions, context: TableContext) -> None:
        self.target = target
        target.finds_refused = context.finds_refused
        self._config = config
        self._context = context
        self._follows, self._keeps = config.mode != "changelog", config.mode == "history"
        self._policy = Policy(self._follows, config.behavior, context.marks, self._keeps)
        self._evolution = Evolution(target, self._policy)
        self._sources = Sources(target, context.name)
        self._begun = self._has = False
        interval = config.mirror_apply_interval_ms if config.mode == "mirror" else 0
        self._deferred = DeferredChanges(target, interval) if interval else None
        self._maintained = time.monotonic()

    def write(self, rows: TableRows, batch: BatchId, asked: Asked, *, again: bool = False) -> None:
        """Takes a batch's rows.

        Args:
            rows: the rows, with the marks among them.
            batch: their number.
            asked: what the user asks for.
            again: whether the table may have the batch, as where its writer was killed before anybody knew: then what
                goes with the rows is done, and they are not written once more.

        Raises:
            SinkError: it cannot, or is not to.
        """
        evolution = self._evolution
        self.target.expect(batch)
        begun = {mark.table for mark in rows.marks if mark.kind is MarkKind.SNAPSHOT_BEGIN}
        if self._follows and self._context.marks:
            self._require_begun(rows)
        awaited = evolution.awaits(asked.read_again) - begun
        if awaited and self._follows:
            rows = rows.without(awaited)  # whatever they say, others replace them
        if rows.marks:
            self._apply(batch.application)
        heads = ((part.position, part.layout) for part in rows.parts)
        log = Logged() if self._follows else evolution.logged(rows.marks, heads, asked.accepted, awaited)
        if not evolution.columns:
            of_mirror = self._sources.first(rows.sources) if self._follows else {}
            evolution.first_notes = {**origin(self._context.name, rows.layouts), **of_mirror}
        evolution.follow(rows.layouts, rows.marks, asked.accepted)
        self._has = again and self._is_here(batch)
        if self._follows:
            self._follow(rows, batch, asked.accepted)
        else:
            self._log(rows, log, batch, asked.accepted)
        evolution.begun({name: one for name, one in asked.read_again.items() if name in begun})
        evolution.use({name: one for name, one in asked.accepted.items() if name in begun})

    def last_batch(self, application: str) -> int | None:
        """The number of the last batch of an application that is here, or waits beside the table."""
        found = [self.target.version_of(application)]
        if self._deferred is not None:
            found.append(self._deferred.version_of(application))
        return max((number for number in found if number is not None), default=None)

    def _is_here(self, batch: BatchId) -> bool:
        last = self.last_batch(batch.application)
        return last is not None and last >= batch.number

    @property
    def due(self) -> bool:
        """Whether something is to be done though no rows come."""
        return (self._deferred is not None and self._deferred.due) or self._maintenance_due

    @property
    def _maintenance_due(self) -> bool:
        interval = self._config.optimize_interval_ms
        return bool(interval) and time.monotonic() - self._maintained >= interval / 1000

    def tend(self, application: str) -> None:
        """Does what is due."""
        if self._deferred is not None and self._deferred.due:
            self._apply(application)
        if self._maintenance_due:
            self._maintained = time.monotonic()
            if self.target.exists():
                self.target.maintain()

    def _apply(self, application: str) -> None:
        """Merges the changes that wait."""
        deferred = self._deferred
        if deferred is None or not deferred.waiting:
            return
        columns = self._evolution.present()
        batch = BatchId(f"{application}/applied", deferred.version)
        text = self._config.unavailable_value_placeholder
        mirror = Mirror(self.target, columns, batch, text, self._evolution.fitting)
        mirror.merge(deferred.changes(columns), deferred.key)
        deferred.clear(application)

    def _put(self, rows: TableRows, marks: Sequence[Mark], gone: Emptied, batch: BatchId) -> None:
        evolution, text = self._evolution, self._config.unavailable_value_placeholder
        if self._keeps:
            History(self.target, evolution.columns, batch, text, evolution.fitting).write(rows, endings_of(marks))
            return
        comments = evolution.comments if evolution.rebuilt else None
        mirror = Mirror(self.target, evolution.columns, batch, text, evolution.fitting, comments)
        key = mirror.waits(rows, gone) if self._deferred is not None else ()
        if self._deferred is not None and key:
            if not self._deferred.takes(evolution.columns):
                self._apply(batch.application)
            self._deferred.append(mirror.folded(rows, key), evolution.columns, key, batch)
        else:
            self._apply(batch.application)
            mirror.write(rows, gone)

    def _require_begun(self, rows: TableRows) -> None:
        """Makes sure that a mirror which is there was begun by this pipeline, or is begun with these rows."""
        if not self._begun and self._evolution.present():
            self._sources.begin(here=any(mark.kind in BEGINS for mark in rows.marks))
            self._begun = True

    def _log(self, rows: TableRows, log: Logged, batch: BatchId, accepted: Mapping[str, str]) -> None:
        if log.rows and self._evolution.present():
            rows = rows.and_groups(log.rows)
        if rows.parts and not self._has:
            columns, fitting = self._evolution.columns, self._evolution.fitting
            with self.target.finding(partial(rows.typed, columns, fitting)):
                append(self.target, rows, columns, fitting, batch)
        self._evolution.use({name: accepted[name] for name in log.used})

    def _follow(self, rows: TableRows, batch: BatchId, accepted: Mapping[str, str]) -> None:
        evolution, target = self._evolution, self.target
        marks = sorted(
            (mark for mark in rows.marks if mark.told or not self._context.marks), key=lambda mark: mark.position
        )
        marks, used = chosen(marks, self._policy.behavior, evolution.accepts(accepted), target)
        if not evolution.present():
            evolution.use({name: accepted[name] for name in used})
            return  # whatever happened to it, it has never had a row
        here = rows.sources
        self._sources.add(here)
        gone = emptied(marks, self._sources.names, target)
        if (rows.parts or gone) and not self._has:
            self._put(rows, marks, gone, batch)
        if gone.whole is not None:
            self._sources.restart(here)
            evolution.written()
        evolution.use({name: accepted[name] for name in used})
