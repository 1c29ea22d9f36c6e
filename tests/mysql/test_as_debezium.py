"""Corners in which live events were compared with a live Debezium 3.6.3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit_mysql.ddl import SHOWN, DdlReader, Flavor
from cdckit_mysql.filters import Filters
from cdckit_mysql.schema_changes.events import SchemaEvents
from cdckit_mysql.schema_changes.facts import id_parts, quoted_id, table_facts
from cdckit_mysql.schema_changes.formats import HistoryFormat
from cdckit_mysql.table import TableId, Tables
from cdckit_mysql.takeover.schema_history import create_statement
from mysql.capture import changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]


def told(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The values of schema changes."""
    values = [record.value.to_dict() for record in records if isinstance(record.value, Struct)]
    return [value for value in values if "ddl" in value]


def columns(value: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The columns that a schema change shows, by name."""
    [change] = value["tableChanges"]
    return {column["name"]: column for column in change["table"]["columns"]}


def keys(records: Sequence[Record]) -> list[dict[str, Any] | None]:
    return [record.key.to_dict() if isinstance(record.key, Struct) else None for record in records]


def test_a_counter_that_may_be_null_is_null_and_no_key(capture: NewCapture, sql: Sql) -> None:
    """In the snapshot, where the server's statement has no word for it, and in the log."""
    sql("CREATE TABLE s (v INT, s INT AUTO_INCREMENT NULL UNIQUE); INSERT INTO s VALUES (1, NULL), (2, 5);")
    found = capture().once()
    sql("CREATE TABLE t (v INT, s INT AUTO_INCREMENT NULL UNIQUE); INSERT INTO t VALUES (1, NULL), (2, 5);")
    found += capture().once()
    assert sorted(changes(found), key=str) == [
        ("c", "t", None, (1, None)),
        ("c", "t", None, (2, 5)),
        ("r", "s", None, (1, None)),
        ("r", "s", None, (2, 5)),
    ]
    assert keys(found) == [None] * 4


def test_a_column_that_sets_itself_is_told_to_be_generated(capture: NewCapture, sql: Sql, database: str) -> None:
    """Snapshots tell of the other databases' tables, too."""
    options = {"include_schema_changes": True}
    members = "id INT PRIMARY KEY, a DATETIME ON UPDATE CURRENT_TIMESTAMP, b DATETIME DEFAULT CURRENT_TIMESTAMP"
    sql(f"CREATE TABLE s ({members});")
    found = told(capture(**options).once())
    sql(f"CREATE TABLE t ({members}); ALTER TABLE t MODIFY b DATETIME ON UPDATE CURRENT_TIMESTAMP;")
    found += told(capture(**options).once())
    own = [value for value in found if value["databaseName"] == database and value["tableChanges"]]
    shown = [columns(value) for value in own if value["tableChanges"][0]["table"]]
    generated = [[name for name, one in each.items() if one["autoIncremented"] and one["generated"]] for each in shown]
    assert generated == [["a"], ["a"], ["a", "b"]]


def test_quotes_in_names_are_doubled(capture: NewCapture, sql: Sql) -> None:
    capture(include_schema_changes=True).once()
    sql('CREATE TABLE `a"b` (id INT PRIMARY KEY);')
    [value] = told(capture(include_schema_changes=True).once())
    assert value["tableChanges"][0]["id"].endswith('."a""b"')


def test_a_unique_index_of_a_table_without_a_key_is_a_new_definition(capture: NewCapture, sql: Sql) -> None:
    """Only that: what the key of the records is does not change with others."""
    sql("CREATE TABLE a (x INT NOT NULL, y INT); CREATE TABLE b (x INT NOT NULL, y INT); CREATE TABLE c LIKE a;")
    sql("ALTER TABLE c ADD PRIMARY KEY (x);")
    capture(include_schema_changes=True).once()
    sql("CREATE UNIQUE INDEX i ON a (x); CREATE INDEX i ON b (x); CREATE UNIQUE INDEX u ON b (y);")
    sql("CREATE UNIQUE INDEX i ON c (y); DROP INDEX i ON a;")
    found = told(capture(include_schema_changes=True).once())
    keys_of = [[one["table"]["primaryKeyColumnNames"] for one in value["tableChanges"]] for value in found]
    shown = [(value["ddl"], value["source"]["table"]) for value in found]
    assert [(*one, key) for one, key in zip(shown, keys_of, strict=True)] == [
        ("CREATE UNIQUE INDEX i ON a (x)", "a", [["x"]]),
        ("CREATE INDEX i ON b (x)", "", []),
        ("CREATE UNIQUE INDEX u ON b (y)", "b", [[]]),
        ("CREATE UNIQUE INDEX i ON c (y)", "", []),
        ("DROP INDEX i ON a", "", []),
    ]


def test_changes_stand_under_the_database_of_debezium(
    capture: NewCapture, sql: Sql, database: str, db_server: SQLServer
) -> None:
    """That of the new name; that of the session for an index, unless it makes a new definition."""
    other = f"{database}_other"
    db_server.execute(f"CREATE DATABASE {other} CHARACTER SET utf8mb4")
    try:
        sql("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b LIKE a; CREATE TABLE c LIKE a;")
        options = {"include_schema_changes": True, "database_include_list": f"{database},{other}"}
        capture(**options).once()
        sql(f"RENAME TABLE a TO {other}.a, b TO d; ALTER TABLE c RENAME TO {other}.c; CREATE TABLE {other}.k (x INT);")
        sql(f"CREATE INDEX i ON {other}.a (id); DROP INDEX i ON {other}.a; CREATE UNIQUE INDEX i ON {other}.k (x);")
        found = told(capture(**options).once())
        for value in found:
            assert value["databaseName"] == value["source"]["db"]
        places = [(value["source"]["table"], value["databaseName"].removeprefix(database)) for value in found]
        assert places == [
            *[("a", "_other"), ("d", ""), ("c", "_other"), ("k", "_other")],
            *[("", ""), ("", ""), ("k", "_other")],
        ]
    finally:
        db_server.execute(f"DROP DATABASE {other}")


def test_a_rename_by_alter_names_the_table_that_is_gone(db_server: SQLServer) -> None:
    """Who reads the history under the new name's database would not find it there."""
    reader, tables, config = DdlReader(Flavor.MYSQL), Tables(), config_for(db_server)
    reader.apply(tables, "d", "CREATE TABLE t (id INT)")
    renamed = reader.apply(tables, "d", "ALTER TABLE t RENAME TO e.u")
    [event] = SchemaEvents(config, Filters(config), HistoryFormat.told).of(renamed, tables)
    assert event.change is not None
    assert (event.database, event.change.id, event.change.previous) == ("e", ("e", "u"), ("d", "t"))


def test_what_is_told_is_understood_again() -> None:
    """Where a connector's history, or a signal, tells of such a table."""
    table = TableId("d", 'a"b')
    reader, tables = DdlReader(Flavor.MYSQL), Tables()
    members = "a DATETIME(3) ON UPDATE CURRENT_TIMESTAMP(3), s INT AUTO_INCREMENT NULL, t INT NOT NULL"
    [change] = reader.apply(tables, "d", f'CREATE TABLE `a"b` ({members})', SHOWN)
    assert change.table is not None
    facts = table_facts(change.table, comments=False)
    assert id_parts(quoted_id(table)) == list(table)
    [again] = reader.apply(tables, "d", create_statement(table, facts), SHOWN)
    assert again.table is not None
    assert again.table.columns == change.table.columns
    assert table_facts(again.table, comments=False) == facts


def test_national_types(capture: NewCapture, sql: Sql) -> None:
    capture(include_schema_changes=True).once()
    spelled = ("NCHAR VARYING", "NATIONAL CHARACTER VARYING", "NCHAR VARCHARACTER", "NATIONAL VARCHARACTER")
    sql(f"CREATE TABLE t ({', '.join(f'c{at} {each}(5)' for at, each in enumerate(spelled))});")
    [value] = told(capture(include_schema_changes=True).once())
    assert {column["jdbcType"] for column in columns(value).values()} == {-9}


@pytest.mark.parametrize(("mode", "shown"), [("connect", 86_400_000), ("isostring", None)])
def test_a_time_of_a_whole_day(mode: str, shown: int | None, capture: NewCapture, sql: Sql) -> None:
    """Debezium has a number for it under `connect`, and for nothing beyond; its isostring says midnight."""
    rows = "(1, '24:00:00', '24:00:00.001', '-00:00:01')"
    sql(f"CREATE TABLE s (id INT PRIMARY KEY, a TIME, b TIME(3), c TIME); INSERT INTO s VALUES {rows};")
    found = capture(time_precision_mode=mode).once()
    sql(f"CREATE TABLE t LIKE s; INSERT INTO t VALUES {rows};")
    found += capture(time_precision_mode=mode).once()
    assert [change[3] for change in changes(found)] == [(1, shown, None, None)] * 2


def test_rows_of_an_xa_transaction_have_no_thread(capture: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    capture().once()
    sql("XA START 'x'; INSERT INTO t VALUES (1); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';")
    sql("XA START 'x'; INSERT INTO t VALUES (2); XA END 'x'; XA COMMIT 'x' ONE PHASE;")
    found = [record.value.to_dict() for record in capture().once() if isinstance(record.value, Struct)]
    assert [(value["after"]["id"], value["source"]["thread"]) for value in found] == [(1, None), (2, None)]
