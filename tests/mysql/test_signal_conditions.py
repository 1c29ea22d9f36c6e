"""Conditions that come with signals: what they may ask for, and what whoever writes them may not."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit_mysql.incremental.conditions import Askable, checked_condition, checked_statement
from cdckit_mysql.table import TableId
from mysql.signalling import SIGNALS, Signalled
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]

ASKABLE = Askable(TableId("d", "t"), ("id", "v", "Näme", "order", "date"), ("secret", "year"))

CONDITIONS = [
    ("v = 1", "v = 1"),
    ("v = 1 AND id < 50 OR id = 98", "v = 1 AND id < 50 OR id = 98"),
    ("color='x'", None),
    ("Näme LIKE 'a%' -- all", "`Näme` LIKE 'a%'"),
    ('Näme = "it\'s"', "`Näme` = 'it''s'"),
    ("Näme = 'a' /* x */ 'b'", "`Näme` = 'a' 'b'"),
    ("`order` IN (1, 2,3)", "`order` IN (1, 2,3)"),
    ("d.t.v >= 1 and t.id<=5", "`d`.`t`.`v` >= 1 and `t`.`id`<=5"),
    ("date BETWEEN DATE '2026-01-01' AND NOW() - INTERVAL 1 DAY", None),
    ("LOWER(Näme) = 'x' COLLATE utf8mb4_bin", "LOWER(`Näme`) = 'x' COLLATE utf8mb4_bin"),
    ("v->>'$.a' = 'x'", "`v`->>'$.a' = 'x'"),
    ("v = _utf8mb4'x' OR v = x'41' OR v = b'1' OR v = 1.5e3", "v = _utf8mb4 'x' OR v = x'41' OR v = b'1' OR v = 1.5e3"),
    ("CASE WHEN v THEN 1 ELSE NULL END IS NOT NULL", None),
    ("v - -1 = 2", "`v` - -1 = 2"),
    ("v--1 = 2", "`v`- -1 = 2"),
    ("CAST(v AS SIGNED) = 1", "CAST(`v` AS SIGNED) = 1"),
]  # fmt: skip

REFUSED = [
    "SELECT 1", "(SELECT 1)", "v = (SELECT password FROM other.users)", "id IN (TABLE other.users)", "v", "",
    "EXISTS (VALUES ROW(1))", "sleep(3600)", "SLEEP (3600)", "v OR benchmark(1000000000, md5('x'))", "get_lock('x', 9)",
    "load_file('/etc/passwd') LIKE 'r%'", "1) OR (1", "1 = 1) UNION SELECT * FROM other.users WHERE (1 = 1",
    "1; DROP TABLE t", "@x := 1", "v = @@hostname", "user() = 'root'", "database() = 'd'", "v = 'it\\'s'", "v = 'open",
    "other.f(1)", "`sleep`(5)", "`d`.`f`(5)", "secret LIKE 'a%'", "`secret` = 1", "year = 2", "t.secret = 1",
    "YEAR > 1", "1 = 1 LIMIT 5", "1 = 1 INTO OUTFILE '/tmp/x'", "1 = 1 FOR UPDATE", "1 PROCEDURE ANALYSE()",
    "order = 1",
    "/*!50000 (SELECT 1) */", "v = {fn now()}", "v = ?", "repeat('x', 1000000000)", "json_table(v, '$')", "v /* open",
    "MATCH (v) AGAINST ('x')", "v OVER ()", "x.y.z.v = 1", "other.users.password = 1", "v = v.sleep(5)",
    "ROW(1, 2) = (1, 2)", "DEFAULT(secret) = 1", "VALUES(secret) = 1", "v = 1 COLLATE `a b`", "v = 1 COLLATE a.b", "\0",
]  # fmt: skip

STATEMENTS = [
    ("SELECT * FROM d.t WHERE v = 1", "SELECT * FROM `d`.`t` WHERE `v` = 1"),
    ("select * from d.t;", "SELECT * FROM `d`.`t`"),
    ("SELECT * FROM t", "SELECT * FROM `d`.`t`"),
    ("SELECT id, x.v FROM `d`.`t` AS x WHERE x.v > 3 ORDER BY id DESC, v LIMIT 10", None),
    ("SELECT * FROM d.t x LIMIT 5, 10", "SELECT * FROM `d`.`t` AS `x` LIMIT 5, 10"),
    ("SELECT * FROM d.t ORDER BY id LIMIT 5 OFFSET 10", "SELECT * FROM `d`.`t` ORDER BY `id` LIMIT 5 OFFSET 10"),
]

REFUSED_STATEMENTS = [
    "SELECT password AS id FROM other.users", "SELECT * FROM other.users", "SELECT * FROM d.t, other.users",
    "SELECT secret AS id FROM d.t", "SELECT secret FROM d.t", "SELECT * FROM d.t JOIN other.users", "SELECT 1 FROM d.t",
    "SELECT * FROM d.t WHERE id IN (SELECT 1)", "SELECT * FROM d.t UNION SELECT * FROM other.users", "SELECT sleep(9)",
    "SELECT * FROM d.t WHERE sleep(9)", "SELECT * FROM d.t FOR UPDATE", "SELECT * INTO OUTFILE '/tmp/x' FROM d.t",
    "SELECT * FROM d.t INTO OUTFILE '/tmp/x'", "SELECT * FROM (SELECT * FROM other.users) t",
    "SELECT DISTINCT * FROM d.t", "SELECT * FROM d.t ORDER BY sleep(9)",
    "SELECT * FROM d.t WHERE v = 1; DROP TABLE t", "SELECT id AS v, v AS id FROM d.t", "SELECT * FROM d.t GROUP BY v",
    "SELECT * FROM d.t LIMIT 1 PROCEDURE ANALYSE()", "SELECT * FROM d.t PARTITION (p0)",
    "SELECT * FROM d.t WHERE", "SELECT", "SELECT * FROM d.t ORDER BY secret", "SELECT * FROM d.t LIMIT @x",
    "WITH x AS (1)",
]  # fmt: skip


@pytest.mark.parametrize(("given", "made"), CONDITIONS)
def test_conditions_are_written_anew(given: str, made: str | None) -> None:
    if "color" in given:
        with pytest.raises(ValueError, match=r"no column of d.t whose values the events show.* where 'color' stands"):
            checked_condition(given, ASKABLE)
        return
    found = checked_condition(given, ASKABLE)
    assert made is None or found.replace("`", "") == made.replace("`", "")
    assert checked_condition(found, ASKABLE) == found


@pytest.mark.parametrize("given", REFUSED)
def test_nothing_else_is_a_condition(given: str) -> None:
    if given == "v":
        assert checked_condition(given, ASKABLE) == "`v`"
        return
    with pytest.raises(ValueError, match=r"\w"):
        checked_condition(given, ASKABLE)


@pytest.mark.parametrize(("given", "made"), STATEMENTS)
def test_statements_are_written_anew(given: str, made: str | None) -> None:
    found = checked_statement(given, ASKABLE)
    assert made is None or found == made
    assert checked_statement(found, ASKABLE) == found


@pytest.mark.parametrize("given", REFUSED_STATEMENTS)
def test_nothing_else_is_a_statement(given: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        checked_statement(given, ASKABLE)


@pytest.fixture
def signalled(db_server: SQLServer, database: str, sql: Sql, tmp_path: Path) -> Iterator[Signalled]:
    """A capture of table `t` (20 rows), from a server with a table `users` that is not captured."""
    sql(SIGNALS)
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(30), secret VARCHAR(30));")
    sql(f"INSERT INTO t VALUES {', '.join(f'({number}, {number % 2}, {number})' for number in range(20))};")
    sql("CREATE TABLE users (id INT PRIMARY KEY, v VARCHAR(30)); INSERT INTO users VALUES (4711, 'hunter2');")
    capture = Signalled(
        db_server,
        database,
        tmp_path / "state",
        table_include_list=f"{database}.t,{database}.signals",
        column_exclude_list=f"{database}.t.secret",
    )
    capture.once()
    yield capture


def _ask(capture: Signalled, condition: object, kind: str = "incremental") -> list[Any]:
    """What a snapshot with a condition reads, and that the log is followed behind it."""
    before = len(capture.reads())
    name = f"{capture.database}.t"
    given = [{"data-collection": name, "filter": condition}]
    capture.signal(data_collections=[name], type=kind, additional_conditions=given)
    number = 1000 + len(capture.records)
    capture.server.execute(f"INSERT INTO {capture.database}.t VALUES (%s, 'end', 'x')", (number,))
    records = capture.once()
    assert f'"id": {number}' in json.dumps([record.value.to_dict() for record in records if record.value], default=str)  # type: ignore[union-attr]
    return [row[0] for row in capture.reads()][before:]


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_what_others_write_reads_no_other_table(
    signalled: Signalled, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    database = signalled.database
    attacks = [
        f"SELECT id, v FROM {database}.users",
        f"SELECT id, secret AS v FROM {database}.t",
        f"id IN (SELECT 1 FROM {database}.users WHERE v LIKE 'h%')",
        "secret LIKE '1%'",
        f"1 = 0) UNION SELECT id, v FROM {database}.users WHERE (1 = 1",
        "sleep(3600)",
    ]
    for attack in attacks:
        caplog.clear()
        assert _ask(signalled, attack, kind) == []
        assert "is refused" in caplog.text
    assert _ask(signalled, "v = '1' AND id < 6", kind) == [1, 3, 5]
    assert _ask(signalled, "LOWER(v) LIKE '0%' AND `id` IN (2, 3, 4)", kind) == [2, 4]


def test_a_blocking_snapshot_takes_a_statement_of_its_table(signalled: Signalled) -> None:
    name = f"{signalled.database}.t"
    assert _ask(signalled, f"SELECT * FROM {name} WHERE v = '1' AND id < 4", "blocking") == [1, 3]
    assert _ask(signalled, f"SELECT v, id FROM {name} ORDER BY id LIMIT 2, 2;", "blocking") == [2, 3]


@pytest.mark.parametrize("kind", ["incremental", "blocking"])
def test_what_the_server_refuses_while_it_reads_stops_nothing(
    signalled: Signalled, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    statuses = [one.additional_data.get("status") for one in signalled.notifications]
    assert "SQL_EXCEPTION" not in statuses
    signalled.options["signal_conditions"] = "free"
    signalled.options["signal_statement_timeout_ms"] = 500
    assert len(_ask(signalled, "sleep(30) + id > 0", kind)) <= 20
    slow = "information_schema.COLUMNS"
    many = f"(SELECT COUNT(*) FROM {slow} a, {slow} b, {slow} c WHERE a.COLUMN_NAME <> CONCAT(b.COLUMN_NAME, t.id)) > 5"
    assert len(_ask(signalled, many, kind)) <= 20
    assert "took longer than signal.statement.timeout.ms=500" in caplog.text
    assert "SQL_EXCEPTION" in [one.additional_data.get("status") for one in signalled.notifications]
    del signalled.options["signal_statement_timeout_ms"]  # a busy server takes long for any statement
    assert _ask(signalled, "id < 2", kind) == [0, 1]


def test_free_conditions_are_warned_of_once(signalled: Signalled, caplog: pytest.LogCaptureFixture) -> None:
    signalled.options["signal_conditions"] = "free"
    found = _ask(signalled, f"id = (SELECT MIN(id) - 4709 FROM {signalled.database}.users)")
    assert found == [2]
    assert caplog.text.count("signal.conditions=free") == 1


def test_signals_write_one_line_into_the_log(signalled: Signalled, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    forged = "x\n2026-11-22 ERROR the disk is full\x1b[31m\r\u2028y"
    signalled.signal("log", message=forged)
    signalled.signal(f"no such type\n{forged}"[:30])
    name = f"{signalled.database}.t"
    signalled.signal(data_collections=[name], additional_conditions=[{"data-collection": name, "filter": forged}])
    signalled.signal(data_collections=[forged])
    signalled.once()
    assert r"x\n2026-11-22 ERROR the disk is full\x1b[31m\r\u2028y" in caplog.text
    said = [record.getMessage() for record in caplog.records if record.getMessage().startswith("signal 's")]
    assert len(said) == 4
    assert not [line for line in said if not line.isprintable()]


MALFORMED: list[dict[str, Any]] = [
    {"data-collections": 5},
    {"data-collections": {"a": 1}},
    {"data-collections": [None, 5, ["x"], {}]},
    {"data-collections": ["T"], "additional-conditions": 5},
    {"data-collections": ["T"], "additional-conditions": {"a": 1}},
    {"data-collections": ["T"], "additional-conditions": [5]},
    {"data-collections": ["T"], "surrogate-key": []},
    {"data-collections": ["T"], "additional-conditions": [{"data-collection": ["T"], "filter": {"a": 1}}]},
    {"data-collections": ["T"], "additional-conditions": [{"data-collection": "T", "filter": {"a": 1}}]},
    {"data-collections": ["T"], "additional-conditions": [{"data-collection": "T", "filter": "v = '\ud800'"}]},
    {"data-collections": ["("]},
    {"data-collections": ["T"], "type": "x"},
    {"database": 5, "changes": [5]},
    {"changes": [{"id": 5}]},
    {"changes": [{"id": "d.t", "type": "CREATE", "table": {"columns": [5]}}]},
    {"changes": [{"id": "d.t", "type": "CREATE", "table": {"columns": 5}}]},
    {"changes": [{"id": "", "type": "DROP"}]},
    {"changes": [{"id": "d.t", "type": "CREATE", "table": {"columns": [{"name": 5, "typeName": "INT"}]}}]},
    {"binlog_filename": 5, "binlog_position": "x"},
    {"binlog_filename": "x", "binlog_position": 10**30},
    {"message": {"a": 1}},
    {"gtid_set": 5},
    {"gtid_set": "0-0-99999999999999999999999"},
    {"gtid_set": "x:y"},
    {"binlog_filename": "a", "gtid_set": []},
]
KINDS = ["execute-snapshot", "stop-snapshot", "pause-snapshot", "log", "set-binlog-position", "schema-changes", "x"]


def test_signals_that_make_no_sense_stop_nothing(signalled: Signalled, sql: Sql) -> None:
    table = f"{signalled.database}.signals"
    sql(f"ALTER TABLE {table} MODIFY data MEDIUMTEXT;")
    rows = [
        (kind, json.dumps(data).replace('"T"', f'"{signalled.database}.t"')) for kind in KINDS for data in MALFORMED
    ]
    rows += [(kind, text) for kind in KINDS for text in ("[" * 100_000, "{", "5", '"x"', "\0", "[]", '{"a": 1e999}')]
    for number, (kind, data) in enumerate(rows):
        signalled.server.execute(f"INSERT INTO {table} VALUES (%s, %s, %s)", (f"m{number}", kind, data))
    signalled.once()
    sql("INSERT INTO t VALUES (5000, 'end', 'x');")
    assert any(record.topic.endswith(".t") for record in signalled.once())
