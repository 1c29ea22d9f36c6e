"""Plans the splits of a snapshot whose chunks are read at the same time, while the log tells what changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cdckit import SourceContext, Split
from cdckit.connector.snapshot_parts import estimate_of, share_out
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.topic_collisions import check_topics
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.snapshot import snapshot_events
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.snapshot.changed import change_told, left_of
from cdckit_mysql.snapshot.chunk_plan import Chunk, plan_chunks, tell_of
from cdckit_mysql.snapshot.resnapshot import tables_now, warn_of_missing
from cdckit_mysql.snapshot.selection import ChosenTable, choose_tables
from cdckit_mysql.splits import ChunkWork
from cdckit_mysql.streaming.opening import require_point
from cdckit_mysql.table import Tables


class ChunkSplits:
    """Plans for one source.

    Args:
        config: the source's options.
        filters: what is captured.
        asked: the server.
        run_id: the run's id in the records' headers.
    """

    def __init__(self, config: MySqlConfig, filters: Filters, asked: AskedServer, run_id: str) -> None:
        self._config = config
        self._filters = filters
        self._asked = asked
        self._run_id = run_id
        self._noted: str | None = None

    def note(self, point: LogOffset) -> None:
        """The definitions at this point were read just now."""
        self._noted = point.position.prefix

    def between(
        self, whole: Split, history: SchemaHistory, context: SourceContext, parallelism: int, *, with_rows: bool
    ) -> list[Split]:
        """The splits of a snapshot.

        Args:
            whole: from where it is due to the point that the log goes on from.
            history: the definitions.
            context: the runner's.
            parallelism: how many of them may be read at the same time.
            with_rows: whether rows are read, or the definitions are told of alone.

        Raises:
            PositionLostError: the server has not what was there at that point.
            SourceError: it refuses, or is another one.
        """
        _, connection = self._asked.ready()
        point = LogOffset.from_json(whole.end or {})
        tables = self._tables(connection, history, point)
        check_topics(self._config, self._filters, tables)
        definitions = replace(whole, payload=self._definitions(history, point, tables))
        told = bool(definitions.payload.told)
        if not with_rows:
            return [definitions] if told else []
        require_point(connection, self._config, point)
        chosen, chunks = self._chunks(connection, tables, point, parallelism)
        tell_of(chosen, chunks, context.notices)
        warn_of_missing(point.resnapshot, chosen)
        groups = share_out(chunks, parallelism)
        splits = [replace(whole, payload=self._work(group), records=estimate_of(group)) for group in groups]
        splits = [definitions, *splits] if told else splits
        return self._marked(splits or [definitions], chosen, tables) if context.marks and chosen else splits

    def _tables(self, connection: Connection, history: SchemaHistory, point: LogOffset) -> Tables:
        tables = history.tables_at(point.position)
        if point.resnapshot is None:
            return tables
        return tables_now(connection, self._config, self._filters, self._asked.dialect, history, tables, point)

    def _definitions(self, history: SchemaHistory, point: LogOffset, tables: Tables) -> ChunkWork:
        """What the schema-change topic is told of a snapshot, but of one that only reads rows again."""
        tells = self._config.include_schema_changes and point.resnapshot is None
        created = history.created_at(point.position) if tells else None
        events = () if created is None else tuple(snapshot_events(tables, created))
        return replace(self._work(()), told=events)

    def _work(self, chunks: Sequence[Chunk]) -> ChunkWork:
        return ChunkWork(tuple(chunks), self._asked.dialect, self._run_id)

    def _chunks(
        self, connection: Connection, tables: Tables, point: LogOffset, parallelism: int
    ) -> tuple[Sequence[ChosenTable], list[Chunk]]:
        with driver_errors(self._config, "planning the snapshot"), change_told(self._config, "a table"):
            chosen = choose_tables(connection, tables, self._config, self._filters, point.only)
            if point.resnapshot is not None or self._noted != point.position.prefix:
                chosen = left_of(connection, self._config, self._filters, self._asked.dialect, tables, chosen)
            self._noted = None
            return chosen, plan_chunks(connection, chosen, parallelism)

    def _marked(self, splits: list[Split], chosen: Sequence[ChosenTable], tables: Tables) -> list[Split]:
        """The splits, of which the first tells by table marks that the snapshot begins and ends."""
        first, *rest = splits
        read = tuple(table.table for table in chosen)
        captured = tuple(table for table in tables if self._filters.captures(*table.id))
        return [replace(first, payload=replace(first.payload, marked=read, captured=captured)), *rest]
