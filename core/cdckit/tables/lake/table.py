"""One table of the sink: its columns follow the source's, and a batch's rows go into it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING

from cdckit import MarkKind
from cdckit.errors import RetriableSinkError
from cdckit.tables.allocators import load_arrow
from cdckit.tables.context import Asked, TableContext
from cdckit.tables.evolution import Evolution
from cdckit.tables.lake.appending import append
from cdckit.tables.lake.options import LakeOptions
from cdckit.tables.lake.rows import TableRows
from cdckit.tables.lake.target import LakeTarget
from cdckit.tables.logged_marks import Logged
from cdckit.tables.made_tables import TablesGoneError
from cdckit.tables.policy import Policy
from cdckit.tables.segments import chosen, emptied
from cdckit.tables.sources import Sources, noted_sources, origin
from cdckit.tables.target import BatchId

if TYPE_CHECKING:
    from cdckit.tables.lake.deferred import DeferredChanges
    from cdckit.tables.lake.following import Following
    from cdckit.tables.marks import Mark

BEGINS = frozenset({MarkKind.SNAPSHOT_BEGIN, MarkKind.CREATE, MarkKind.RENAME})
"""With these a source table's rows are all told from here on."""


class LakeTable:
    """One table.

    Args:
        target: where it is.
        config: the sink's.
        context: the runner's.
        passes: whether a fault passes, so that it says nothing of the table.
    """

    def __init__(
        self, target: LakeTarget, config: LakeOptions, context: TableContext, passes: Callable[[Exception], bool]
    ) -> None:
        self.target = target
        self._passes = passes
        self._config = config
        self._context = context
        self._follows = config.mode != "changelog"
        self._policy = Policy(
            self._follows, config.behavior, context.marks, config.mode == "history", replays=context.replays
        )
        self._evolution = Evolution(target, self._policy)
        self._sources = Sources(target, context.name)
        self._begun = self._has = False
        self._identity: str | None = None
        self._following = _following(target, config, self._evolution) if self._follows else None
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
        try:
            self.target.expect(batch)
            before = self._is_as_before(rows, batch, asked.requested)
            written = self._write(rows, batch, asked, again=again)
        except Exception as error:
            self._look_for_it(error, rows, asked.requested)
            raise
        known = self._sources.own if before and self._follows else set[str]()
        self._remember(written.sources | known, rows.marks, before=before)

    def _is_as_before(self, rows: TableRows, batch: BatchId, requested: Set[str]) -> bool:
        """Whether the table is there that was written before.

        Raises:
            SinkError: it is gone, and lacked rows if it was made anew.
        """
        there = bool(self._evolution.present())
        another = there and self._is_another(self.target.identity(), batch.application)
        if another or not there:
            self._require_told(rows, requested, replaced=another)
        if another and self._identity is not None:
            raise RetriableSinkError(f"table {self.target}: another one is in its place") from None
        if self._deferred is not None:
            self._deferred.require(self._context.made, rows.marks, requested)
        return there and not another

    def _is_another(self, identity: str | None, application: str) -> bool:
        """Whether a table is not the one that was written before; one with a batch of this pipeline's is its own."""
        if self._identity is not None:
            return identity != self._identity
        another = self._context.made.is_another(self.target.topic, identity)
        return another and self.target.version_of(application) is None

    def _require_told(self, rows: TableRows, requested: Set[str], *, replaced: bool) -> None:
        self._context.made.require_told(self.target, self.target.topic, rows.marks, requested, replaced=replaced)

    def _remember(self, sources: Set[str], marks: Sequence[Mark], *, before: bool) -> None:
        """Has it remembered whose rows are here, and whose changes wait."""
        made, there = self._context.made, bool(self._evolution.columns)
        self._identity = self.target.identity() if there else None
        self.target.keep_seen()
        made.wrote(self.target.topic, sources, marks, before=before, there=there, identity=self._identity)
        if self._deferred is not None:
            self._deferred.remember(made, sources, marks)

    @property
    def _deferred(self) -> DeferredChanges | None:
        return None if self._following is None else self._following.deferred

    def _look_for_it(self, error: Exception, rows: TableRows, requested: Set[str]) -> None:
        """Has a fault told as what it comes of, where the table was there and is gone, be it while it was opened.

        Or where what waits beside it is.
        """
        if isinstance(error, TablesGoneError) or self._passes(error):
            return
        made, is_here = self._context.made, self.target.is_there(self._identity)
        try:
            if not is_here:
                self._require_told(rows, requested, replaced=self.target.is_there())
            elif self._deferred is None or not self._deferred.look_for_them(made, rows.marks, requested):
                return
        except TablesGoneError as gone:
            raise gone from None  # what the library says of it may say a secret
        if self._evolution.columns:
            raise RetriableSinkError(f"table {self.target}: was removed while it was written") from None

    def _write(self, rows: TableRows, batch: BatchId, asked: Asked, *, again: bool) -> TableRows:
        """Gives the rows without those that others replace."""
        evolution = self._evolution
        begun = {mark.table for mark in rows.marks if mark.kind is MarkKind.SNAPSHOT_BEGIN}
        if self._follows and self._context.marks:
            self._require_begun(rows)
        awaited = evolution.awaits(asked.read_again) - begun
        if awaited and self._follows:
            rows = rows.without(awaited)  # whatever they say, others replace them
        if rows.marks and self._following is not None:
            self._following.apply(batch.application)
        heads = ((part.position, part.layout) for part in rows.parts)
        log = Logged() if self._follows else evolution.logged(rows.marks, heads, asked.accepted, awaited)
        if not evolution.columns:
            of_mirror = self._sources.first(rows.sources) if self._follows else {}
            evolution.first_notes = {**origin(self._context.name, rows.layouts), **of_mirror}
        evolution.follow(rows.layouts, rows.marks, asked.accepted)
        self._has = again and self._is_here(batch)
        if self._following is not None:
            self._follow(self._following, rows, batch, asked.accepted)
        else:
            self._log(rows, log, batch, asked.accepted)
        evolution.begun({name: one for name, one in asked.read_again.items() if name in begun})
        evolution.use({name: one for name, one in asked.accepted.items() if name in begun})
        return rows

    def last_begun(self, application: str) -> int | None:
        """As `last_batch`; a table that has one is known from then on, though its rows may not come again."""
        try:
            found = self.last_batch(application)
        except Exception as error:
            if self._passes(error) or self.target.is_there():
                raise
            return None  # removed while it was opened: its next change misses it
        made, topic = self._context.made, self.target.topic
        if found is None or not self.target.exists():
            return found
        identity = self.target.identity()
        if not made.knows(topic) or made.is_another(topic, identity):
            sources = noted_sources(self.target.notes(), self._context.name)
            made.wrote(topic, sources, (), before=True, there=True, identity=identity)
        return found

    def last_batch(self, application: str) -> int | None:
        """The number of the last batch of an application that is here, or waits beside the table."""
        found = [self.target.version_of(application)]
        if self._following is not None:
            found.append(self._following.version_of(application))
        return max((number for number in found if number is not None), default=None)

    def _is_here(self, batch: BatchId) -> bool:
        last = self.last_batch(batch.application)
        return last is not None and last >= batch.number

    @property
    def due(self) -> bool:
        """Whether something is to be done though no rows come."""
        return (self._following is not None and self._following.due) or self._maintenance_due

    @property
    def _maintenance_due(self) -> bool:
        interval = self._config.optimize_interval_ms
        return bool(interval) and time.monotonic() - self._maintained >= interval / 1000

    def tend(self, application: str) -> None:
        """Does what is due."""
        if self._following is not None and self._following.due:
            try:
                self._following.apply(application)
            except Exception as error:
                self._look_for_it(error, TableRows(()), frozenset())
                raise
            if self._deferred is not None:
                self._deferred.remember(self._context.made, frozenset(), ())
        if self._maintenance_due:
            self._maintained = time.monotonic()
            if self.target.exists():
                self.target.maintain()
            if self._following is not None:
                self._following.maintain()
        self.target.keep_seen()

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
        self._evolution.use({name: accepted[name] for name in log.used & accepted.keys()}, rows.marks)

    def _follow(self, following: Following, rows: TableRows, batch: BatchId, accepted: Mapping[str, str]) -> None:
        evolution, target = self._evolution, self.target
        told = sorted(
            (mark for mark in rows.marks if mark.told or not self._context.marks), key=lambda mark: mark.position
        )
        marks, names = chosen(told, self._policy.behavior, evolution.accepts(accepted, told), target)
        used = {name: accepted[name] for name in names & accepted.keys()}
        if not evolution.present():
            evolution.use(used, told)
            return  # whatever happened to it, it has never had a row
        here = rows.sources
        self._sources.add(here)
        gone = emptied(marks, self._sources.names, target)
        if (rows.parts or gone) and not self._has:
            following.put(rows, marks, gone, batch)
        if gone.whole is not None:
            self._sources.restart(here)
            evolution.written()
        evolution.use(used, told)


def _following(target: LakeTarget, config: LakeOptions, evolution: Evolution[LakeTarget]) -> Following:
    load_arrow()
    from cdckit.tables.lake.following import Following  # noqa: PLC0415 - a changelog is kept without pyarrow

    return Following(target, config, evolution)
