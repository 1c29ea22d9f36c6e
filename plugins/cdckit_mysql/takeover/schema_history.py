"""The definitions that a schema history of Debezium holds for a position of the log.

Its records are the documents of Debezium's `HistoryRecord`: `position`, `databaseName`, `ddl`, `tableChanges`. The
statements are read again, since they say more than `tableChanges` does (collations, indexes); where the two differ, or
a statement cannot be read, `tableChanges` is right: it is what Debezium has decoded rows with.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any

from cdckit import StateError
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.ddl import SHOWN, DdlError, DdlReader
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.schema_changes.facts import id_parts, self_setting
from cdckit_mysql.server.facts import Dialect, quoted
from cdckit_mysql.table import Table, TableId, Tables

log = logging.getLogger("cdckit.mysql")

Record = Mapping[str, Any]

_ATTRIBUTES = re.compile(r"((?: (?:SIGNED|UNSIGNED|ZEROFILL|BINARY))*)$", re.IGNORECASE)


def definitions_at(records: Iterable[Record], offset: LogOffset, dialect: Dialect, *, fold: int) -> Tables:
    """The definitions in force at an offset.

    Args:
        records: the history, in order.
        offset: where the connector stood.
        dialect: whose statements they are.
        fold: the server's `lower_case_table_names`.

    Raises:
        StateError: the history holds nothing at or before the offset, or a table that cannot be understood.
    """
    replay = _Replay(dialect, fold)
    applied = 0
    for record in records:
        if _before(record, offset, mariadb=dialect.mariadb):
            replay.apply(record)
            applied += 1
    if not applied:
        raise StateError(f"the schema history has no definitions at or before {offset.position}", number="CDC7403")
    log.info("%d records of the schema history give %d tables at %s", applied, len(replay.tables), offset.position)
    return replay.tables


def _before(record: Record, offset: LogOffset, *, mariadb: bool) -> bool:
    """Whether a record's statement was executed before the offset: by GTID where both have them, else by place.

    A record has the transactions before its statement: where these are the offset's, too, the place decides.
    """
    at = record.get("position") or {}
    known, reached = at.get("gtids"), offset.gtids
    if known and reached:
        reaches, exceeds = _compared(known, reached, mariadb=mariadb)
        if not reaches or exceeds:
            return reaches
    return (file_number(at.get("file") or ""), int(at.get("pos") or 0)) <= (file_number(offset.file), offset.pos)


def _compared(known: str, reached: str, *, mariadb: bool) -> tuple[bool, bool]:
    """Whether `reached` has all transactions of `known`, and whether it has more."""
    if mariadb:
        last, now = MariaDbGtidSet.parse(known), MariaDbGtidSet.parse(reached)
        return now.issuperset(last), last != now
    before, after = GtidSet.parse(known), GtidSet.parse(reached)
    return after.issuperset(before), before != after


class _Replay:
    """Definitions, as record after record changes them."""

    def __init__(self, dialect: Dialect, fold: int) -> None:
        self.tables = Tables(lower_case_table_names=fold)
        self._reader = DdlReader(dialect.flavor, version=dialect.version, charsets=dialect.charsets)

    def apply(self, record: Record) -> None:
        """Takes the next record."""
        statement = record.get("ddl")
        if statement:
            self._read(statement, record.get("databaseName") or "")
        for change in record.get("tableChanges") or ():
            self._settle(change)

    def _read(self, statement: str, database: str) -> None:
        unclosed = statement.count("/*") > statement.count("*/")
        try:
            self._reader.apply(self.tables, database, f"{statement} */" if unclosed else statement)
        except DdlError as error:
            log.info("a statement of the schema history is taken by what it changed: %s", error)

    def _settle(self, change: Record) -> None:
        """Makes one table what the record says that it is."""
        table_id, facts = _table_id(change["id"]), change.get("table")
        if change["type"] == "DROP" or facts is None:
            self.tables.remove(*table_id)
            return
        if change.get("previousId"):
            self.tables.remove(*_table_id(change["previousId"]))
        known = self.tables.get(*table_id)
        if known is None or not _agrees(known, facts):
            self._make(table_id, facts)

    def _make(self, table_id: TableId, facts: Record) -> None:
        statement = create_statement(table_id, facts)
        self.tables.remove(*table_id)
        try:
            self._reader.apply(self.tables, table_id.database, statement, SHOWN)
        except DdlError as error:
            raise StateError(
                f"the schema history's table {table_id} cannot be understood: {error.problem}", number="CDC7403"
            ) from error


def _table_id(text: str) -> TableId:
    parts = id_parts(text)
    if len(parts) != 2:
        raise StateError(
            f"the schema history names a table '{text}', which is not of the form database.table", number="CDC7403"
        )
    return TableId(*parts)


def _agrees(table: Table, facts: Record) -> bool:
    ours = [(column.name, column.optional) for column in table.columns]
    return ours == [(column["name"], column["optional"]) for column in facts["columns"]]


def create_statement(table_id: TableId, facts: Record) -> str:
    """The statement that makes a table as `tableChanges` describes it."""
    parts = [_column(column) for column in facts["columns"]]
    if facts.get("primaryKeyColumnNames"):
        parts.append(f"PRIMARY KEY ({', '.join(quoted(name) for name in facts['primaryKeyColumnNames'])})")
    charset = facts.get("defaultCharsetName")
    options = f" CHARACTER SET {charset}" if charset else ""
    return f"CREATE TABLE {quoted(*table_id)} ({', '.join(parts)}){options}"


def _column(facts: Record) -> str:
    spelled = facts.get("typeExpression") or facts["typeName"]
    attributes = _ATTRIBUTES.search(spelled)
    kind, suffix = (spelled[: attributes.start()], attributes[0]) if attributes else (spelled, "")
    charset = f" CHARACTER SET {facts['charsetName']}" if facts.get("charsetName") else ""
    null = "NULL" if facts["optional"] else "NOT NULL"
    after = f"{null}{_default(facts)}{self_setting(facts)}"
    return f"{quoted(facts['name'])} {kind}{_dimensions(facts)}{suffix}{charset} {after}"


def _dimensions(facts: Record) -> str:
    labels = facts.get("enumValues")
    if labels:
        return f"({', '.join(label if label.startswith(chr(39)) else _literal(label) for label in labels)})"
    numbers = [str(facts[name]) for name in ("length", "scale") if facts.get(name) is not None]
    return f"({', '.join(numbers)})" if numbers else ""


def _default(facts: Record) -> str:
    text = facts.get("defaultValueExpression")
    return "" if text is None else f" DEFAULT {_literal(text)}"


def _literal(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
