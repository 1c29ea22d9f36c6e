"""The schema history: which definitions are in force at which position of the log.

It is kept in the state store as entries at positions. A snapshot of the definitions is one entry that starts anew and
one for each table; a statement that changed definitions is one entry with what it changed, so that nothing has to be
parsed again when the history is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from cdckit import UNHEARD, HistoryEntry, Notices, StateError, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit_mysql.ddl import ChangeKind, SchemaChange
from cdckit_mysql.offsets import LogOffset, LogPosition
from cdckit_mysql.schema_changes.snapshot import CreateStatements
from cdckit_mysql.schema_history.topic import HistoryTopic
from cdckit_mysql.table import Database, SharedColumns, Table, TableId, Tables

HISTORY = "schema"
"""The history's name in the state store."""
_SHOWN = 200
"""So much of an entry that cannot be read is shown."""
FOLDED_AT = 1000
"""So many outdated entries at least make it worth while to write the history anew."""

_OF_DATABASES = frozenset({ChangeKind.CREATE_DATABASE, ChangeKind.ALTER_DATABASE})


class SchemaHistory:
    """The schema history of one pipeline.

    Args:
        state: where it is kept.
        notices: told when it is read.
        topic: gets a copy, before the state does.
    """

    def __init__(self, state: StateStore, notices: Notices = UNHEARD, topic: HistoryTopic | None = None) -> None:
        self._state = state
        self._topic = topic
        self._notices = notices
        self._outdated = 0
        """About how many entries are of no use to who needs the newest definitions only."""
        self._known = 0
        """How many definitions there were when they were last looked at."""
        self._seen: tuple[str, int, Tables] | None = None
        """Behind which place the definitions were last looked at or noted, how often the state had changed by then, and
        they: whoever plans asks for those at one place again and again."""

    def start(
        self,
        position: LogPosition,
        tables: Tables,
        created: CreateStatements | None = None,
        point: LogOffset | None = None,
    ) -> None:
        """Notes all definitions as they are at `position`; what was known before holds for what lies before.

        Args:
            position: the place in the log.
            tables: the definitions.
            created: the statements that make them, for a pipeline that tells of them.
            point: the offset of a snapshot that has found them.
        """
        if self._topic is not None and created is not None and point is not None:
            self._topic.started(tables, created, point)
        self._outdated += self._known
        self._begin(position, _all_of(position, tables, created))
        self._see(position, tables.copy())
        self._known = len(tables)

    def _begin(self, position: LogPosition, entries: Iterable[HistoryEntry]) -> None:
        """Notes what starts anew; of what was noted at the same place, nothing may stand behind it there."""
        noted = list(self._state.read_history(HISTORY, position.end()))
        before = [entry for entry in noted if entry.position < f"{position.prefix}-start"]
        if len(before) == len(noted):
            self._state.append_history(HISTORY, entries)
            return
        later = [entry for entry in self._state.read_history(HISTORY) if entry.position > position.end()]
        self._state.replace_history(HISTORY, [*before, *entries, *later])

    def rebuild(self, position: LogPosition, tables: Tables) -> None:
        """Puts the definitions at `position` in the place of all that was known."""
        self._state.replace_history(HISTORY, _all_of(position, tables))

    def reaches(self, position: LogPosition) -> bool:
        """Whether the definitions in force behind `position` are known."""
        return next(iter(self._state.read_history(HISTORY, position.end())), None) is not None

    def moved(self, position: LogPosition, tables: Tables, *, anew: bool = False) -> None:
        """Notes all definitions anew where the log of another server begins to count, whose files are not known yet.

        What is noted behind that place is of an attempt that came to nothing, perhaps at yet another server.

        Args:
            position: the place.
            tables: the definitions there.
            anew: whether it begins to count though its files are known, as where a former server is gone back to.
        """
        if anew or not position.file:
            before = self._state.read_history(HISTORY, position.prefix)
            self._state.replace_history(HISTORY, [*before, *_all_of(position, tables)])

    def changed(
        self,
        position: LogPosition,
        changes: Sequence[SchemaChange],
        tables: Tables,
        mark: str = "ddl",
        behind: Callable[[], LogOffset] | None = None,
    ) -> None:
        """Notes what the statement that ends at `position` changed.

        Args:
            position: the place in the log.
            changes: what changed.
            tables: the definitions after it.
            mark: tells apart what changed at the same place.
            behind: gives the offset where the log goes on behind a statement of its own.
        """
        if self._topic is not None and behind is not None:
            # The topic first: Debezium's history may know more than was read, and never less.
            self._topic.changed(changes, tables, behind())
        names = dict.fromkeys(name for change in changes for name in (change.before, change.after) if name)
        entry = {
            "ddl": changes[0].ddl,
            "database": changes[0].database,
            "dropped": [list(name) for name in names if name not in tables],
            "tables": [tables[name].to_json() for name in names if name in tables],
            "dropped_databases": [c.database for c in changes if c.kind is ChangeKind.DROP_DATABASE],
            "databases": [asdict(found) for found in _databases(changes, tables)],
        }
        self._outdated += 1
        self._known = len(tables)
        self._state.append_history(HISTORY, [HistoryEntry(f"{position.prefix}-{mark}", entry)])

    def fold(self, position: LogPosition) -> None:
        """Puts the definitions in force at `position` in the place of all entries up to there, once these are many.

        Only for a position from which everything is read again at the most. What lies behind it stays, and the state
        store makes the change as a whole or not at all.
        """
        # Each fold writes all definitions, so it waits for as many changes: on the whole a statement costs the same.
        if self._outdated < max(FOLDED_AT, self._known) or not self.reaches(position):
            return
        tables = self._replay(position)
        later = [entry for entry in self._state.read_history(HISTORY) if entry.position > position.end()]
        self._state.replace_history(HISTORY, [*_all_of(position, tables), *later])
        self._outdated, self._known = len(later), len(tables)

    def names(self) -> list[TableId]:
        """Every table that it knows of, in force or not.

        Raises:
            StateError: an entry is damaged.
        """
        found: dict[TableId, None] = {}
        for place, entry in self._state.read_history(HISTORY):
            try:
                tables = [entry["table"]] if "table" in entry else entry.get("tables", ())
                dropped = [TableId(*name) for name in entry.get("dropped", ())]
                found |= dict.fromkeys([*(Table.from_json(one).id for one in tables), *dropped])
            except DAMAGE as error:
                raise _damaged(place, entry, error) from error
        return list(found)

    def tables_at(self, position: LogPosition) -> Tables:
        """The definitions in force behind `position`.

        Raises:
            StateError: the history does not reach back to it.
        """
        seen = self._seen
        if seen is None or seen[:2] != (position.end(), self._state.changes):
            self._notices.schema_history(recovering=True, changes=0, last=None)
            seen = self._see(position, self._replay(position, self._notices))
        return seen[2].copy()

    def _see(self, position: LogPosition, tables: Tables) -> tuple[str, int, Tables]:
        self._seen = seen = position.end(), self._state.changes, tables
        return seen

    def _replay(self, position: LogPosition, notices: Notices = UNHEARD) -> Tables:
        tables: Tables | None = None
        read, last, columns = 0, None, SharedColumns()
        for place, entry in self._state.read_history(HISTORY, position.end()):
            tables = _read(place, entry, tables, columns)
            read, last = read + 1, place
        notices.schema_history(recovering=False, changes=read, last=last)
        # An offset that the history does not reach back to must not be gone on from with later definitions: rows would
        # be read by columns that they did not have.
        if tables is None:
            raise StateError(
                f"the schema history knows no definitions at {position}: the state is incomplete; where none has "
                "changed since, `cdc run FILE --set source.snapshot.mode=recovery` makes it anew; else start with a "
                "new state folder, which takes a new snapshot",
                number="CDC7201",
            )
        self._outdated, self._known = read - len(tables), len(tables)
        return tables

    def created_at(self, position: LogPosition) -> CreateStatements | None:
        """The statements that were noted with the definitions at `position`, if any were.

        Raises:
            StateError: an entry is damaged.
        """
        try:
            return self._created_at(position)
        except DAMAGE as error:
            raise StateError(
                f"the schema history is damaged at {position}: {reason_of(error)}", number="CDC7202"
            ) from error

    def _created_at(self, position: LogPosition) -> CreateStatements | None:
        defaults: str | None = None
        tables: dict[TableId, str] = {}
        for place, entry in self._state.read_history(HISTORY, position.end()):
            if place.startswith(f"{position.prefix}-start"):
                defaults, tables = entry.get("ddl"), {}
            elif place.startswith(position.prefix) and "ddl" in entry and "table" in entry:
                tables[TableId(entry["table"]["database"], entry["table"]["name"])] = entry["ddl"]
        return None if defaults is None else CreateStatements(defaults, tables)


def _all_of(position: LogPosition, tables: Tables, created: CreateStatements | None = None) -> Iterator[HistoryEntry]:
    everything = tables.to_json()
    del everything["tables"]
    defaults = {} if created is None else {"ddl": created.defaults}
    yield HistoryEntry(f"{position.prefix}-start", {"start": everything, **defaults})
    for number, table in enumerate(tables):
        statement = None if created is None else created.tables.get(table.id)
        text = {} if statement is None else {"ddl": statement}
        yield HistoryEntry(f"{position.prefix}-table-{number:08d}", {"table": table.to_json(), **text})


def _databases(changes: Iterable[SchemaChange], tables: Tables) -> Iterator[Database]:
    for change in changes:
        found = tables.database(change.database) if change.kind in _OF_DATABASES else None
        if found is not None:
            yield found


def _read(place: str, entry: dict[str, Any], tables: Tables | None, columns: SharedColumns) -> Tables:
    try:
        return _replayed(entry, tables, columns)
    except DAMAGE as error:
        raise _damaged(place, entry, error) from error


def _damaged(place: str, entry: dict[str, Any], error: Exception) -> StateError:
    return StateError(
        f"the schema history is damaged at {place} ({reason_of(error)}): {str(entry)[:_SHOWN]}; restore the state "
        "folder from a copy, or start with a new one, which takes a new snapshot",
        number="CDC7202",
    )


def _replayed(entry: dict[str, Any], tables: Tables | None, columns: SharedColumns) -> Tables:
    if "start" in entry:
        return Tables.from_json({**entry["start"], "tables": []})
    if tables is None:
        raise StateError("the schema history begins in the middle; start with a new state folder", number="CDC7202")
    if "table" in entry:
        tables.put(Table.from_json(entry["table"], columns))
        return tables
    for database, name in entry["dropped"]:
        tables.remove(database, name)
    for database in entry["dropped_databases"]:
        tables.remove_database(database)
    for definition in entry["databases"]:
        tables.put_database(Database(**definition))
    for definition in entry["tables"]:
        tables.put(Table.from_json(definition, columns))
    return tables
