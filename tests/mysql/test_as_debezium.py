"""Corners in which live events were compared with a live Debezium 3.6.3."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from cdckit.record import Record
from cdckit.struct import Struct
from cdckit_mysql.ddl import SHOWN, DdlReader, Flavor
from cdckit_mysql.debezium_history import create_statement
from cdckit_mysql.schema_changes.facts import id_parts, quoted_id, table_facts
from cdckit_mysql.table import TableId, Tables
from mysql.capture import changes
from mysql.conftest import NewCapture

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


def test_a_column_that_sets_itself_is_told_to_be_generated(capture: NewCapture, sql: Sql) -> None:
    options = {"include_schema_changes": True}
    members = "id INT PRIMARY KEY, a DATETIME ON UPDATE CURRENT_TIMESTAMP, b DATETIME DEFAULT CURRENT_TIMESTAMP"
    sql(f"CREATE TABLE s ({members});")
    found = told(capture(**options).once())
    sql(f"CREATE TABLE t ({members}); ALTER TABLE t MODIFY b DATETIME ON UPDATE CURRENT_TIMESTAMP;")
    found += told(capture(**options).once())
    shown = [columns(value) for value in found if value["tableChanges"] and value["tableChanges"][0]["table"]]
    generated = [[name for name, one in each.items() if one["autoIncremented"] and one["generated"]] for each in shown]
    assert generated == [["a"], ["a"], ["a", "b"]]


def test_quotes_in_names_are_doubled(capture: NewCapture, sql: Sql) -> None:
    capture(include_schema_changes=True).once()
    sql('CREATE TABLE `a"b` (id INT PRIMARY KEY);')
    [value] = told(capture(include_schema_changes=True).once())
    assert value["tableChanges"][0]["id"].endswith('."a""b"')


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
