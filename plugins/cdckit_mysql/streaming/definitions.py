"""The definitions in force where the log is read, kept in step with its statements."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta

from cdckit import UNHEARD, DecodeError, Notices
from cdckit_mysql.binlog.query import Query
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.ddl import SHOWN, DdlError, DdlReader, DdlSession, SchemaChange, is_schema_change
from cdckit_mysql.ddl.lexer import Cursor
from cdckit_mysql.events.defined_tables import tell_definitions
from cdckit_mysql.events.topic_collisions import TableTopics
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.facts import Dialect
from cdckit_mysql.streaming.row_statements import ROW_CHANGES, names, statement_verb, written_tables
from cdckit_mysql.table import Table, TableId, Tables

log = logging.getLogger("cdckit.mysql")


class Definitions:
    """The definitions in force at one place of the log; they change as statements are given.

    Args:
        tables: the definitions where reading begins; they become this object's own.
        config: the source's options.
        filters: what is captured and tracked.
        dialect: whose statements they are.
        history: where changes are noted before anything beyond them is; None where that is done already.
        notices: told of changes.
    """

    def __init__(
        self,
        tables: Tables,
        config: MySqlConfig,
        filters: Filters,
        dialect: Dialect,
        *,
        history: SchemaHistory | None = None,
        notices: Notices = UNHEARD,
    ) -> None:
        self.tables = tables
        self.changes = 0
        """How often a definition has changed."""
        self.mariadb = dialect.mariadb
        """Whose definitions they are."""
        self._filters = filters
        self._dialect = dialect
        self.reader = DdlReader(dialect.flavor, version=dialect.version, charsets=dialect.charsets)
        """Reads this server's statements."""
        self._passes_over = config.schema_history_internal_skip_unparseable_ddl
        self._history = history
        self._notices = notices
        self._topics = TableTopics(config, filters, tables)

    def of(self, announced: TableMap) -> Table | None:
        """The definition of a table that the log announces, or None where it is not known."""
        return self.tables.get(announced.database, announced.name)

    def apply(
        self, event: Query, position: LogPosition, behind: Callable[[], LogOffset] | None = None
    ) -> Sequence[SchemaChange]:
        """Takes a statement that ends at `position`; gives what it changed.

        Args:
            event: the statement.
            position: where it ends.
            behind: gives the offset there, for a history that is read by others.

        Raises:
            DecodeError: it may change a definition and cannot be read.
            ConfigError: a table would share another one's topic.
        """
        if not is_schema_change(event.statement) or event.alters_temporary:
            return ()
        changes = self._read(event, position)
        self._forget_untracked(changes)
        if changes:
            self.changes += 1
            if self._history is not None:
                self._topics.arrived([change.after for change in changes if change.after != change.before])
            self._note(changes, position, self.tables, behind)
        return changes

    def _note(
        self,
        changes: Sequence[SchemaChange],
        position: LogPosition,
        tables: Tables,
        behind: Callable[[], LogOffset] | None,
    ) -> None:
        """Notes changes durably, and tells of them; `tables` are the definitions after them."""
        if self._history is not None:
            self._history.changed(position, changes, tables, behind=behind)
        self._tell(changes, position, tables)

    def take_over(
        self,
        table: TableId,
        statement: str,
        position: LogPosition,
        behind: Callable[[], LogOffset] | None = None,
    ) -> Sequence[SchemaChange]:
        """Takes a definition that no statement of the log has told of, and which is in force from `position` on.

        Args:
            table: whose.
            statement: what makes the table so.
            position: the place in the log.
            behind: gives the offset there, for a history that is read by others.

        Raises:
            ValueError: the statement cannot be read.
        """
        known = self.tables.get(*table)
        if not statement.startswith("DROP"):
            self.tables.remove(*table)
        try:
            changes = self.reader.apply(self.tables, table.database, statement, SHOWN)
        except DdlError as error:
            if known is not None:
                self.tables.put(known)
            raise ValueError(f"{table}: {error}") from error
        self.changes += 1
        if self._history is not None and changes:
            self._topics.arrived([table])
            # A statement of the log may end at the same place, and has the name `ddl` in the history; the time keeps
            # several of these in their order behind it.
            self._history.changed(position, changes, self.tables, f"told-{time.time_ns():020d}", behind)
        return changes

    def _read(self, event: Query, position: LogPosition) -> list[SchemaChange]:
        try:
            return self.reader.apply(self.tables, event.database, event.sql, self._session(event))
        except DdlError as error:
            if not self._passes_over:
                raise DecodeError(f"{position}: {error}", number="CDC5105") from error
            log.warning("%s: passed over, as schema.history.internal.skip.unparseable.ddl says: %s", position, error)
            return []

    def _forget_untracked(self, changes: Sequence[SchemaChange]) -> None:
        for change in changes:
            if change.after is not None and not self._filters.tracks(*change.after):
                self.tables.remove(*change.after)

    def _tell(self, changes: Sequence[SchemaChange], position: LogPosition, tables: Tables) -> None:
        names = [str(change.after or change.before or change.database) for change in changes]
        log.debug("%s: definitions changed: %s", position, ", ".join(names))
        self._notices.schema_changed(position.prefix, changes[0].ddl, names)
        if self._notices.wants_definitions:
            found = (tables.get(*change.after) for change in changes if change.after is not None)
            tell_definitions((each for each in found if each and self._filters.captures(*each.id)), self._notices)

    def changes_rows(self, event: Query) -> bool:
        """Whether a statement is DML, which the row format never logs as one."""
        keyword = event.keyword
        if keyword == "SET":  # MariaDB's variables for another statement
            with suppress(DdlError):  # then `apply` tells that it cannot be read
                keyword = statement_verb(self._cursor(event))
        return keyword in ROW_CHANGES

    def refuse_row_change(self, event: Query, place: str) -> None:
        """A change of rows that was logged as a statement.

        Raises:
            DecodeError: it concerns a captured table.
        """
        table = self._written(event)
        if table is not None:
            raise DecodeError(
                f"{place}: a change of {table} was logged as a statement, not as rows: "
                f"let no session set binlog_format to STATEMENT or MIXED ({event.sql[:200]!r})",
                number="CDC5104",
            )

    def _written(self, event: Query) -> TableId | None:
        """A captured table that a statement may have changed; None where there is none."""
        try:
            cursor = self._cursor(event)
        except DdlError:
            return TableId(event.database, "?") if self._filters.database(event.database) else None
        written = written_tables(cursor)
        if written is None:
            cursor.reset(0)
            databases = {event.database: True, **{table.database: True for table in names(cursor)}}
            return next((TableId(name, "?") for name in databases if self._filters.database(name)), None)
        # Of a statement over several, aliases and columns are among them: in doubt it is refused.
        tables = (TableId(*map(self.tables.spelling, table)) for table in written)
        return next((table for table in tables if self._filters.captures(*table)), None)

    def _cursor(self, event: Query) -> Cursor:
        return self.reader.cursor(event.sql, event.database, self._session(event))

    def _session(self, event: Query) -> DdlSession:
        found = event.session
        return self.reader.session(
            sql_mode=found.sql_mode,
            collation_server=found.server_collation,
            default_collation_for_utf8mb4=found.default_utf8mb4_collation,
            explicit_timestamps=found.explicit_timestamps,
            options=found.options,
            explicit_timestamps_by_default=self._dialect.explicit_timestamps,
            time_zone=self._dialect.time_zone if found.time_zone == "SYSTEM" else found.time_zone,
            now=datetime.fromtimestamp(event.timestamp, UTC) + timedelta(microseconds=found.microseconds or 0),
        )
