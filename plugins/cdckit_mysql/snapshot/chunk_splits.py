"""Plans a snapshot whose chunks are read at the same time, batch by batch, while the log tells what changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from cdckit import SnapshotDueError, SourceContext, Split, StateStore
from cdckit.connector.resnapshot import ask, pending
from cdckit.connector.snapshot_parts import BatchQuota, estimate_of, share_out
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.topic_collisions import check_topics
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.snapshot import snapshot_events
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import Connection, driver_errors, release
from cdckit_mysql.snapshot.changed import NotedTables, change_told
from cdckit_mysql.snapshot.chunk_plan import Chunk, Size, bytes_of_row, read_in_turn, shared_out
from cdckit_mysql.snapshot.chunk_progress import ChunkProgress
from cdckit_mysql.snapshot.chunk_walk import ChunkWalk, Step
from cdckit_mysql.snapshot.cursor import MOST_NUMBER, SnapshotCursor
from cdckit_mysql.snapshot.resnapshot import tables_now, warn_of_missing
from cdckit_mysql.snapshot.selection import ChosenTable, choose_tables
from cdckit_mysql.snapshot.sessions import connect_for_snapshot
from cdckit_mysql.snapshot.snapshot_tables import SnapshotTables, in_kept_order, note_anew, snapshot_id
from cdckit_mysql.splits import ChunkWork
from cdckit_mysql.streaming.opening import require_point
from cdckit_mysql.table import Table, TableId


@dataclass(slots=True)
class _Walked:
    """The chunks between two offsets.

    Attributes:
        first: where they begin.
        last: where they end.
        steps: they.
        passed: the tables among them that have no rows, or are gone.
    """

    first: LogOffset
    last: LogOffset
    steps: list[Step] = field(default_factory=list)
    passed: list[ChosenTable] = field(default_factory=list)


class ChunkSplits:
    """Plans for one source.

    Args:
        config: the source's options.
        filters: what is captured.
        asked: the server.
        run_id: the run's id in the records' headers.
        goes_on: whether anything is read behind a snapshot.
    """

    def __init__(
        self, config: MySqlConfig, filters: Filters, asked: AskedServer, run_id: str, *, goes_on: bool
    ) -> None:
        self._goes_on = goes_on
        self._config = config
        self._filters = filters
        self._asked = asked
        self._run_id = run_id
        self._noted: str | None = None
        self._known: SnapshotTables | None = None
        self._walked: _Walked | None = None
        self._progress = ChunkProgress()

    def note(self, point: LogOffset) -> None:
        """The definitions at this point were read just now."""
        self._noted = point.position.prefix

    def cut(
        self,
        first: LogOffset,
        last: LogOffset,
        history: SchemaHistory,
        context: SourceContext,
        state: StateStore,
        max_bytes: int,
    ) -> LogOffset | None:
        """A place within the snapshot before which about so much lies; None where less is left.

        Args:
            first: where it is due.
            last: the point that the log goes on from.
            history: the definitions.
            context: the runner's.
            state: keeps in which order tables are read.
            max_bytes: how much of the tables lies before it, unless the options say how many rows.

        Raises:
            PositionLostError: the server has not what was there at that point.
            SnapshotDueError: a table has changed since that point.
            SourceError: the server refuses, or is another one.
        """
        self._walked = None
        with self._snapshot(first, last, history, state) as (known, connection):
            size = read_in_turn(known.chosen, self._config.snapshot_batch_rows)
            walk = self._walk(connection, known, size, first, last, state)
            rows = self._config.snapshot_batch_rows
            # Where tables are kept, the later parts of one would be merged into those before, row by row.
            quota = BatchQuota(rows, max_bytes, whole=context.marks and not rows)
            steps = list(_batch(walk.steps(), quota, {table.id: table for table in known.chosen}))
            behind = steps[-1].behind if steps else None
            if behind is None:
                self._walked = _Walked(first, last, steps, walk.passed)
                return None
            # Where the batch is planned anew after a restart, its tables may have more chunks.
            number = min(MOST_NUMBER, behind.chunk + len(steps))
            place = last.within_snapshot(replace(behind, chunk=number))
            self._walked = _Walked(first, place, steps, walk.passed)
            if _reached(first, last) is None:
                known.keep_order(state)
            return place

    def between(
        self,
        whole: Split,
        history: SchemaHistory,
        context: SourceContext,
        state: StateStore,
        parallelism: int,
        *,
        with_rows: bool,
    ) -> list[Split]:
        """The splits of a snapshot, or of a part of it.

        Args:
            whole: from where it is due, or has come to, to the point that the log goes on from, or a place before that.
            history: the definitions.
            context: the runner's.
            state: keeps in which order tables are read.
            parallelism: how many of them may be read at the same time.
            with_rows: whether rows are read, or the definitions are told of alone.

        Raises:
            PositionLostError: the server has not what was there at that point.
            SnapshotDueError: a table has changed since that point.
            SourceError: the server refuses, or is another one.
        """
        first, last = LogOffset.from_json(whole.start), LogOffset.from_json(whole.end or {})
        reached = _reached(first, last)
        if not with_rows:
            definitions = replace(whole, payload=self._definitions(history, last), records=0)
            return [definitions] if definitions.payload.told else []
        walked, known = self._between(first, last, history, state, parallelism)
        check_topics(self._config, self._filters, known.tables)
        told = self._definitions(history, last) if reached is None else self._work(())
        definitions = replace(whole, payload=told, records=0)
        if reached is None:
            warn_of_missing(last.resnapshot, known.chosen)
        size = read_in_turn(known.chosen, self._config.snapshot_batch_rows)
        self._progress.tell(known, reached, walked.steps, walked.passed, size, context.notices)
        groups = share_out([step.chunk for step in walked.steps], parallelism)
        splits = [replace(whole, payload=self._work(group), records=estimate_of(group)) for group in groups]
        splits = [definitions, *splits] if definitions.payload.told else splits
        return self._marked(splits or [definitions], walked, known, reached) if context.marks else splits

    def _between(
        self, first: LogOffset, last: LogOffset, history: SchemaHistory, state: StateStore, parallelism: int
    ) -> tuple[_Walked, SnapshotTables]:
        """The chunks, found when the batch was cut, or now."""
        found, self._walked = self._walked, None
        if found is not None and self._known is not None and (found.first, found.last) == (first, last):
            return found, self._known
        with self._snapshot(first, last, history, state) as (known, connection):
            cut = last.cursor is not None or _reached(first, last) is not None
            size = read_in_turn(known.chosen, self._config.snapshot_batch_rows) if cut else None
            size = size or shared_out(known.chosen, parallelism)
            walk = self._walk(connection, known, size, first, last, state)
            return _Walked(first, last, list(walk.steps()), walk.passed), known

    @contextmanager
    def _snapshot(
        self, first: LogOffset, last: LogOffset, history: SchemaHistory, state: StateStore
    ) -> Iterator[tuple[SnapshotTables, Connection]]:
        """The tables of a snapshot, and a connection that they can be asked through."""
        connection = connect_for_snapshot(self._config)
        try:
            require_point(connection, self._config, last)
            with driver_errors(self._config, "planning the snapshot"), change_told(self._config, "a table"):
                begins = _reached(first, last) is None
                yield self._tables(connection, last, history, state, begins=begins), connection
        except SnapshotDueError:
            if _reached(first, last) is not None:
                note_anew(state, last)
            raise
        finally:
            release(connection)
            self._noted = None

    def _tables(
        self, connection: Connection, point: LogOffset, history: SchemaHistory, state: StateStore, *, begins: bool
    ) -> SnapshotTables:
        id, again = snapshot_id(point), point.resnapshot is not None
        # The one that begins at the same place once more may find other definitions.
        if self._known is None or self._known.id != id or (again and begins):
            tables = history.tables_at(point.position)
            if again:
                parts = (connection, self._config, self._filters, self._asked.dialect, history, tables, point)
                tables = tables_now(*parts, begins=begins)
            chosen = choose_tables(connection, tables, self._config, self._filters, point.only)
            self._known = SnapshotTables(id, tables, in_kept_order(chosen, state, id))
        return self._known

    def _walk(
        self,
        connection: Connection,
        known: SnapshotTables,
        size: Size,
        first: LogOffset,
        last: LogOffset,
        state: StateStore,
    ) -> ChunkWalk:
        start = _reached(first, last)
        # Tables that are read again are read behind nothing: for these the log is read first, and then all of them.
        leave = partial(_read_behind, state, first) if self._goes_on and last.resnapshot is None else None
        parts = (connection, self._config, self._filters, self._asked.dialect, known.tables, known.chosen, leave)
        just_now = self._noted is not None and start is None and known.id.startswith(self._noted)
        is_there = (lambda _: True) if just_now else NotedTables(*parts).has
        return ChunkWalk(connection, self._filters, known.chosen, size, start, last.cursor, is_there)

    def _definitions(self, history: SchemaHistory, point: LogOffset) -> ChunkWork:
        """What the schema-change topic is told of a snapshot, but of one that only reads rows again."""
        tells = self._config.include_schema_changes and point.resnapshot is None
        created = history.created_at(point.position) if tells else None
        events = () if created is None else tuple(snapshot_events(history.tables_at(point.position), created))
        return replace(self._work(()), told=events)

    def _work(self, chunks: Sequence[Chunk]) -> ChunkWork:
        return ChunkWork(tuple(chunks), self._asked.dialect, self._run_id)

    def _marked(
        self, splits: list[Split], walked: _Walked, known: SnapshotTables, reached: SnapshotCursor | None
    ) -> list[Split]:
        """The splits, of which the first tells by table marks which tables' rows begin and end among them."""
        first, *rest = splits
        chunks, passed = [step.chunk for step in walked.steps], [table.table for table in walked.passed]
        # Of one that is gone by now a part may have been read: it has begun.
        partly = reached.table if reached is not None and reached.part else None
        begun = [
            *(chunk.table for chunk in chunks if chunk.first),
            *(one for one in passed if str(one.id) != partly),
        ]
        ended = [*(chunk.table for chunk in chunks if chunk.last), *passed]
        here = {table.id for table in begun}
        ahead = [table.table for table in known.chosen if table.id not in here] if reached is None else []
        work = replace(
            first.payload,
            begun=tuple(begun),
            ended=tuple(ended),
            ahead=tuple(ahead),
            first=reached is None,
            captured=self._captured(known),
        )
        return [replace(first, payload=work), *rest] if begun or ended else splits

    def _captured(self, known: SnapshotTables) -> tuple[Table, ...]:
        return tuple(table for table in known.tables if self._filters.captures(*table.id))


def _read_behind(state: StateStore, at: LogOffset, tables: Sequence[TableId]) -> None:
    """Asks for tables to be read again, as a user would; once for each, however often a batch is planned."""
    offset = at.to_json()
    wanted = pending(state, offset)
    names = [str(table) for table in tables if wanted is None or str(table) not in wanted.tables]
    if names:
        ask(state, offset, names)


def _batch(steps: Iterator[Step], quota: BatchQuota, tables: dict[TableId, ChosenTable]) -> Iterator[Step]:
    """The chunks up to the one with which the batch is full."""
    for step in steps:
        yield step
        chunk = step.chunk
        if quota.filled(str(chunk.table.id), chunk.estimate, bytes_of_row(tables[chunk.table.id]), last=chunk.last):
            return


def _reached(first: LogOffset, last: LogOffset) -> SnapshotCursor | None:
    """How far the snapshot that ends at `last` has come at `first`; None: it begins there."""
    return first.cursor if first.snapshot_begun and snapshot_id(first) == snapshot_id(last) else None
