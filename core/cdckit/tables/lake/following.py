"""How a batch's rows come into a table that follows its source: a mirror or a history."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.tables.evolution import Evolution
from cdckit.tables.lake.deferred import DeferredChanges
from cdckit.tables.lake.history import History, endings_of
from cdckit.tables.lake.mirror import Mirror
from cdckit.tables.lake.options import LakeOptions
from cdckit.tables.lake.rows import TableRows
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.marks import Mark
from cdckit.tables.segments import Emptied
from cdckit.tables.target import BatchId


class Following:
    """One table's rows.

    Args:
        target: the table.
        config: the sink's.
        evolution: the table's columns.

    Attributes:
        deferred: the changes that wait beside it, where any may.
    """

    def __init__(self, target: LakeTarget, config: LakeOptions, evolution: Evolution[LakeTarget]) -> None:
        self._target = target
        self._evolution = evolution
        self._text = config.unavailable_value_placeholder
        self._keeps = config.mode == "history"
        waits = config.mode == "mirror"
        self.deferred = DeferredChanges(target, config.mirror_apply_interval_ms) if waits else None

    def version_of(self, application: str) -> int | None:
        """The number of the last batch of an application that waits beside the table."""
        return None if self.deferred is None else self.deferred.version_of(application)

    @property
    def due(self) -> bool:
        """Whether changes have waited long enough."""
        return self.deferred is not None and self.deferred.due

    def apply(self, application: str) -> None:
        """Merges the changes that wait."""
        deferred, evolution = self.deferred, self._evolution
        if deferred is None or not deferred.waiting:
            return
        columns = evolution.present()
        if not columns:  # all rows of the mirror are told anew
            deferred.clear(application)
            return
        batch = BatchId(f"{application}/applied", deferred.version)
        mirror = Mirror(self._target, columns, batch, self._text, evolution.fitting)
        mirror.merge(deferred.changes(columns), deferred.key)
        deferred.clear(application)

    def maintain(self) -> None:
        """Tends what stands beside the table."""
        if self.deferred is not None and self.deferred.takes_more:
            self.deferred.maintain()

    def put(self, rows: TableRows, marks: Sequence[Mark], gone: Emptied, batch: BatchId) -> None:
        """Brings the table to the state behind a batch.

        Args:
            rows: the batch's rows of this table.
            marks: in order, what was told of whole tables.
            gone: what was emptied.
            batch: the batch's number.
        """
        evolution = self._evolution
        if self._keeps:
            history = History(self._target, evolution.columns, batch, self._text, evolution.fitting)
            history.write(rows, endings_of(marks))
            return
        comments = evolution.comments if evolution.rebuilt else None
        mirror = Mirror(self._target, evolution.columns, batch, self._text, evolution.fitting, comments)
        key = mirror.waits(rows, gone) if self.deferred is not None and self.deferred.takes_more else ()
        if self.deferred is not None and key:
            if not self.deferred.takes(evolution.columns):
                self.apply(batch.application)
            self.deferred.append(mirror.folded(rows, key), evolution.columns, key, batch)
        else:
            self.apply(batch.application)
            mirror.write(rows, gone)
