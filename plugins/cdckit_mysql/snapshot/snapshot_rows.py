"""The rows of a snapshot at one consistent point: planned in chunks, read, and made records of."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from cdckit import Record, SourceContext, StateStore
from cdckit.connector.snapshot_progress import SnapshotProgress
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.defined_tables import tell_definitions
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.snapshot.chunk_plan import cut
from cdckit_mysql.snapshot.consistent_point import ConsistentPoint
from cdckit_mysql.snapshot.finished import FinishedChunks
from cdckit_mysql.snapshot.marked_rows import MarkedRows, seconds_as_us
from cdckit_mysql.snapshot.plan import SnapshotPlan, kept_plan
from cdckit_mysql.snapshot.reading import ChunkRows, OpenChunk, read_all
from cdckit_mysql.snapshot.selection import ChosenTable, choose_tables, select
from cdckit_mysql.table import TableId

log = logging.getLogger("cdckit.mysql")

RESUMED_ROWS = 200_000
"""About so many rows are read again at the most when a snapshot goes on within a large table."""
MOST_PARTS = 1000
"""No table is cut into more."""


class SnapshotRows:
    """Plans and reads.

    Args:
        config: the source's options.
        filters: what is captured.
        context: the runner's.
        versions: makes the versions of tables.

    Attributes:
        in_a_part: whether some records so far are of a part that would be read again as a whole; where several parts
            are read at the same time, which is so most of the time, they are not told of.
    """

    def __init__(self, config: MySqlConfig, filters: Filters, context: SourceContext, versions: TableVersions) -> None:
        self._config = config
        self._filters = filters
        self._context = context
        self._versions = versions
        self.in_a_part = False
        self._plan = SnapshotPlan("")
        self._finished = FinishedChunks()
        self._chosen: dict[TableId, ChosenTable] = {}

    @property
    def progress(self) -> str:
        """Which chunks of which plan are finished, as an offset keeps it."""
        return f"{self._plan.id}:{self._finished}"

    def plan(
        self,
        point: ConsistentPoint,
        state: StateStore,
        offset: LogOffset,
        progress: str,
        only: Collection[str] | None = None,
    ) -> None:
        """Makes the plan, or takes up that of a snapshot which was stopped, and keeps it.

        Args:
            point: where the rows are read.
            state: keeps plans.
            offset: the point's.
            progress: how far the snapshot before had come; empty where there is none to go on with.
            only: the names of the tables that were asked for; None: all that snapshots read.
        """
        chosen = choose_tables(point.connections[0], point.tables, self._config, self._filters, only)
        self._chosen = {table.id: table for table in chosen}
        estimates = {str(table.id): table.estimate for table in chosen}
        self._context.notices.snapshot_started(data_collections=estimates)
        tell_definitions((table.table for table in chosen), self._context.notices)

        def cut_up(table: ChosenTable) -> Sequence[str]:
            return cut(point.connections[0], table, self._parts(table.estimate))

        if not self._takes_up(state, progress, chosen):
            self._plan, self._finished = SnapshotPlan(offset.position.prefix), FinishedChunks()
        self._plan.follow(chosen, self._finished, cut_up)
        self._plan.keep(state)

    def _takes_up(self, state: StateStore, progress: str, chosen: Sequence[ChosenTable]) -> bool:
        plan_id, _, text = progress.partition(":")
        kept = kept_plan(state, plan_id) if plan_id else None
        finished = FinishedChunks.parse(text)
        if kept is None or not kept.fits(chosen, finished):
            return False
        self._plan, self._finished = kept, finished
        log.info("%d of %d parts of the snapshot are left", sum(1 for _ in kept.left(finished)), len(kept.chunks))
        return True

    def _parts(self, rows: int) -> int:
        """How many parts a table of about so many rows is cut into, as long as they are not too small."""
        if self._config.legacy_snapshot_max_threads:
            return 1
        threads = self._config.snapshot_max_threads
        sharing = threads * self._config.snapshot_max_threads_multiplier if threads > 1 else 1
        return min(MOST_PARTS, max(sharing, rows // RESUMED_ROWS))

    def records(self, point: ConsistentPoint, offset: LogOffset) -> Iterator[list[Record]]:
        """The records of what is left; behind each list `progress` tells of all that was given out."""
        marked = MarkedRows(self._versions.blocks, offset, seconds_as_us(), begins=not self._finished)
        tables = _TablesInHand(self._plan, self._finished, self._chosen, self._context)
        for found in read_all(point.connections, self._config, self._open_chunks()):
            if found.rows is not None and (ended := marked.of_ended_chunks(found.chunk.version.table.id)):
                yield self._noted(marked, ended)
            yield self._noted(marked, tables.take(marked, found))
        yield self._noted(marked, marked.finish())

    def _open_chunks(self) -> Iterator[OpenChunk]:
        for number, chunk in list(self._plan.left(self._finished)):
            table = self._chosen[chunk.table]
            version = self._versions.of(table.table)
            yield OpenChunk(number, version, select(table, version, chunk.condition))

    def _noted(self, marked: MarkedRows, records: list[Record]) -> list[Record]:
        for number in marked.finished:
            self._finished.add(number)
        marked.finished.clear()
        self.in_a_part = self._config.snapshot_max_threads == 1 and marked.in_a_chunk
        return records


class _TablesInHand:
    """Knows of each table whether it has begun, and how many of its chunks are to come."""

    def __init__(
        self,
        plan: SnapshotPlan,
        finished: FinishedChunks,
        chosen: dict[TableId, ChosenTable],
        context: SourceContext,
    ) -> None:
        self._left = Counter(chunk.table for _, chunk in plan.left(finished))
        self._begun = {chunk.table for number, chunk in enumerate(plan.chunks) if number in finished}
        self._chosen = chosen
        self._context = context
        self._progress: dict[TableId, SnapshotProgress] = {}

    def take(self, marked: MarkedRows, found: ChunkRows) -> list[Record]:
        (number, version, _), rows = found
        table = version.table.id
        progress = self._progress.get(table)
        if progress is None:
            progress = SnapshotProgress(self._context.notices, str(table), self._chosen[table].estimate)
            self._progress[table] = progress
        if rows is not None:
            first = table not in self._begun
            self._begun.add(table)
            progress.read(len(rows))
            return marked.take(number, version, rows, first=first)
        self._left[table] -= 1
        ends = not self._left[table]
        if ends:
            self._progress.pop(table).finished()
        return marked.end(number, table, ends_table=ends)
