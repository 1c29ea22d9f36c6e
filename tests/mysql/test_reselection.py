"""`post.processors`: columns of changed rows that are read from their table once more."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from cdckit.api.record import UNAVAILABLE_HEADER, Record
from cdckit.errors import ConfigError, RetriableSourceError, SourceError
from cdckit_mysql.config import MySqlConfig
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]
DEBEZIUM = "io.debezium.processors.reselect.ReselectColumnsPostProcessor"
PLACEHOLDER = "__debezium_unavailable_value"
TABLE = "CREATE TABLE t (id INT PRIMARY KEY, n INT, text VARCHAR(20), day DATE NOT NULL)"
ROWS = "INSERT INTO t VALUES (1, 10, 'one', '2022-01-08'), (2, NULL, NULL, '2022-01-09')"
CHANGE = "SET SESSION binlog_row_image = MINIMAL; UPDATE t SET n = 11 WHERE id = 1; UPDATE t SET n = 21 WHERE id = 2"


def options(**given: Any) -> dict[str, Any]:
    """A configuration's options with one post processor, whose own stand without `reselect.`."""
    own = {f"again.reselect.{name.replace('_', '.')}": value for name, value in given.items()}
    return {"post.processors": "again", "again.type": DEBEZIUM, **own}


def after(records: Sequence[Record]) -> list[tuple[Any, ...]]:
    """What rows became."""
    values = [record.value.to_dict()["after"] for record in records if record.value is not None]  # type: ignore[union-attr]
    return [tuple(value.values()) for value in values if value is not None]


def lacking(records: Sequence[Record]) -> list[Any]:
    """What headers say that rows lack."""
    headers = [record.header(UNAVAILABLE_HEADER) for record in records]
    return [None if header is None else header.value for header in headers]


@pytest.mark.parametrize("parallelism", [None, 2])
def test_columns_that_the_log_does_not_carry(capture: NewCapture, sql: Sql, parallelism: int | None) -> None:
    sql(f"{TABLE}; {ROWS}")
    made = capture(**options())
    assert after(made.once()) == [(1, 10, "one", 19000), (2, None, None, 19001)]
    sql(CHANGE)
    records = made.once() if parallelism is None else [one for part in made.parallel(parallelism) for one in part]
    assert after(records) == [(1, 11, "one", 19000), (2, 21, None, 19001)]
    assert lacking(records) == [None, None]


def test_columns_that_are_null_are_as_they_are_now(capture: NewCapture, sql: Sql) -> None:
    """But for one whose schema has a default, which Connect shows in its place."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, n INT, d INT DEFAULT 5)")
    made = capture(**options())
    made.once()
    sql("INSERT INTO t VALUES (1, NULL, NULL); UPDATE t SET n = 7, d = 8; UPDATE t SET n = NULL; UPDATE t SET n = 9")
    assert after(made.once()) == [(1, 9, None), (1, 7, 8), (1, 9, 8), (1, 9, 8)]


@pytest.mark.parametrize(
    ("given", "shown", "lacks"),
    [
        ({"unavailable_values": "false"}, (1, 11, PLACEHOLDER, 19000), "text"),
        ({"unavailable_values": "false", "null_values": "false"}, (1, 11, PLACEHOLDER, None), "text,day"),
        ({"null_values": "false"}, (1, 11, "one", 19000), None),
        ({"columns_include_list": r".*\.t:TEXT"}, (1, 11, "one", None), "day"),
        ({"columns_exclude_list": r".*\.t:text"}, (1, 11, PLACEHOLDER, 19000), "text"),
        ({"columns_include_list": r".*\.t:day", "columns_exclude_list": ".*"}, (1, 11, PLACEHOLDER, 19000), "text"),
    ],
)
def test_which_columns_are_read(
    capture: NewCapture, sql: Sql, given: dict[str, str], shown: tuple[Any, ...], lacks: str | None
) -> None:
    sql(f"{TABLE}; {ROWS}")
    made = capture(**options(**given))
    made.once()
    sql("SET SESSION binlog_row_image = MINIMAL; UPDATE t SET n = 11 WHERE id = 1")
    records = made.once()
    assert after(records) == [shown]
    assert lacking(records) == [lacks]


def test_a_row_that_is_gone(capture: NewCapture, sql: Sql, database: str, caplog: pytest.LogCaptureFixture) -> None:
    sql(f"{TABLE}; {ROWS}")
    made = capture(**options())
    made.once()
    sql(f"{CHANGE}; UPDATE t SET n = 12; DELETE FROM t WHERE id = 1")
    with caplog.at_level(logging.WARNING, "cdckit.mysql"):
        records = made.once()
    updates = [(1, 11, PLACEHOLDER, None), (2, 21, None, 19001), (1, 12, PLACEHOLDER, None), (2, 12, None, 19001)]
    assert after(records) == updates
    assert lacking(records)[:4] == ["text,day", None, "text,day", "text,day"]
    said = [one.getMessage() for one in caplog.records if "read again" in one.getMessage()]
    assert len(said) == 1
    assert f"{database}.t: columns of a row" in said[0]
    assert "there is no such row any more; it stays as the log has it" in said[0]


def test_a_row_that_is_gone_stops_the_pipeline_where_that_is_wanted(capture: NewCapture, sql: Sql) -> None:
    sql(f"{TABLE}; {ROWS}")
    made = capture(**options(error_handling_mode="fail"))
    made.once()
    sql("INSERT INTO t VALUES (3, NULL, NULL, '2022-01-10'); DELETE FROM t WHERE id = 3")
    with pytest.raises(SourceError, match=r"no such row any more; reselect\.error\.handling\.mode=warn leaves"):
        made.once()
    assert after(capture(**options()).once()) == [(3, None, None, 19002)]


def test_a_table_that_has_another_definition_by_now(capture: NewCapture, sql: Sql) -> None:
    sql(f"{TABLE}; {ROWS}")
    made = capture(**options())
    made.once()
    sql(f"{CHANGE}; ALTER TABLE t DROP COLUMN text")
    assert after(made.once()) == [(1, 11, PLACEHOLDER, None), (2, 21, PLACEHOLDER, None)]


_KEYS = {
    "BIGINT UNSIGNED": ("18446744073709551615", "1"),
    "DECIMAL(9, 2)": ("-12.50", "12.50"),
    "BIT(9)": ("b'100000001'", "b'1'"),
    "VARCHAR(20) CHARACTER SET latin1": ("'it''s \\\\ é'", "''"),
    "VARBINARY(9)": ("X'00FF27'", "X''"),
    "BINARY(4)": ("X'01020000'", "X'02'"),
    "ENUM('a', 'b,c')": ("'b,c'", "'a'"),
    "SET('x', 'y')": ("'x,y'", "''"),
    "DATE": ("'2024-02-29'", "'0999-01-01'"),
    "TIME(6)": ("'-838:59:59.000000'", "'-00:00:00.000001'"),
    "DATETIME(6)": ("'2024-02-29 12:13:14.000015'", "'9999-12-31 23:59:59'"),
    "TIMESTAMP(3)": ("'2024-02-29 12:13:14.500'", "'2024-07-01 00:00:00'"),
    "YEAR": ("2024", "1999"),
    "TINYINT(1)": ("3", "1"),
}


@pytest.mark.parametrize("modes", [{}, {"decimal.handling.mode": "double", "time.precision.mode": "connect"}])
def test_keys_of_every_type_find_their_row(
    capture: NewCapture, sql: Sql, database: str, db_server: SQLServer, modes: dict[str, str]
) -> None:
    """Whatever form events show them in."""
    for number, (kind, values) in enumerate(_KEYS.items()):
        sql(f"CREATE TABLE t{number} (k {kind}, v VARCHAR(9), w INT, PRIMARY KEY (k))")
        sql(
            f"SET SESSION time_zone = '+00:00'; INSERT INTO t{number} VALUES ({values[0]}, 'first', 1), "
            f"({values[1]}, 'second', 2)"
        )
    made = capture(**options(error_handling_mode="fail"), **modes)
    made.once()
    for number in range(len(_KEYS)):
        sql(f"SET SESSION binlog_row_image = MINIMAL; UPDATE t{number} SET w = w + 10 ORDER BY w")
    rows = after(made.once())
    assert [row[1:] for row in rows] == [("first", 11), ("second", 12)] * len(_KEYS)


def test_keys_of_several_columns_and_keys_of_the_record(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (a INT, b VARCHAR(9), c INT NOT NULL, v VARCHAR(9), w INT, PRIMARY KEY (b, a))")
    sql("INSERT INTO t VALUES (1, 'x', 7, 'one', 0), (1, 'y', 8, 'two', 0)")
    made = capture(**options())
    made.once()
    sql("SET SESSION binlog_row_image = NOBLOB; UPDATE t SET w = NULL")
    sql("UPDATE t SET w = c")
    assert after(made.once()) == [(1, "x", 7, "one", 7), (1, "y", 8, "two", 8)] * 2
    keys = {"message.key.columns": f"{database}.t:c"}
    made = capture(**options(use_event_key="true"), **keys)
    sql("INSERT INTO t VALUES (2, 'z', 9, NULL, 0); UPDATE t SET v = 'three', b = 'new' WHERE c = 9")
    assert after(made.once()) == [(2, "z", 9, "three", 0), (2, "new", 9, "three", 0)]
    made = capture(**options(), **keys)
    sql("INSERT INTO t VALUES (3, 'z', 10, NULL, 0); UPDATE t SET v = 'four', b = 'newer' WHERE c = 10")
    assert after(made.once()) == [(3, "z", 10, None, 0), (3, "newer", 10, "four", 0)]


def test_tables_without_a_key_keys_that_are_not_exact_and_masks(
    capture: NewCapture, sql: Sql, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE none (a INT, b INT); CREATE TABLE near (a FLOAT PRIMARY KEY, b INT)")
    sql("CREATE TABLE masked (a INT PRIMARY KEY, b INT, m VARCHAR(20)); INSERT INTO masked VALUES (1, 1, 'secret')")
    made = capture(**options(), **{"column.mask.with.3.chars": f"{database}.masked.m"})
    made.once()
    sql("INSERT INTO none VALUES (1, NULL); UPDATE none SET b = 1")
    sql("INSERT INTO near VALUES (0.1, NULL); UPDATE near SET b = 1")
    sql("SET SESSION binlog_row_image = MINIMAL; UPDATE masked SET b = 2")
    rows = after(made.once())
    assert rows[:2] == [(1, None), (1, 1)]
    assert [row[1] for row in rows[2:4]] == [None, 1]
    assert rows[4:] == [(1, 2, "***")]
    assert "rows cannot be looked up by column a (FLOAT)" in caplog.text


def test_the_table_of_signals_is_left_alone(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE s (id VARCHAR(9) PRIMARY KEY, type VARCHAR(32), data VARCHAR(99))")
    made = capture(**options(), **{"signal.data.collection": f"{database}.s"})
    made.once()
    sql("INSERT INTO s VALUES ('1', 'none', NULL); UPDATE s SET data = '{}'")
    assert after(made.once()) == [("1", "none", None), ("1", "none", "{}")]


def test_a_lost_connection_is_made_anew(capture: NewCapture, sql: Sql, db_server: SQLServer) -> None:
    sql(f"{TABLE}; {ROWS}")
    made = capture(**options(error_handling_mode="fail"))
    made.once()
    for value in (11, 12):
        sql(f"SET SESSION binlog_row_image = MINIMAL; UPDATE t SET n = {value} WHERE id = 1")
        with suppress(RetriableSourceError):  # planning has lost its connection, too
            made.source.latest_offset(made.offset())
        assert after(made.once()) == [(1, value, "one", 19000)]
        asked = "SELECT id FROM information_schema.processlist WHERE user = 'dbz' AND command = 'Sleep'"
        for (connection,) in db_server.execute(asked):
            db_server.end_session(connection)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"post.processors": "a"}, "post.processors names 'a', and a.type is ''"),
        ({"post.processors": "a", "a.type": "com.example.Other"}, "a.type is 'com.example.Other': it has to be Resel"),
        (options(nothing="1"), "again.reselect.nothing: unknown option"),
        (options(error_handling_mode="stop"), "again.reselect.error.handling.mode: should be"),
        ({**options(), "binlog.files": "x"}, "take post.processors out while files are read"),
    ],
)
def test_what_cannot_be_understood_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said.replace(".", r"\.").replace("(", r"\(")):
        MySqlConfig.load({"topic.prefix": "p", "database.user": "u", **given}, "source")
