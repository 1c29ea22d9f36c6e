"""Formats of schema changes: those of Debezium's manual for 1.1, and of a cloud's manual of data subscription."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from mysql.capture import Capture, config_for
from mysql.conftest import NewCapture
from testkit.servers.mysql import MySQLServer

DATA = Path(__file__).parents[1] / "data"
DATABASES = ("dip_test", "test", "testDB")
SETUP = """
CREATE DATABASE `dip_test` CHARSET utf8mb4 COLLATE utf8mb4_0900_ai_ci;
CREATE TABLE dip_test.customers (
  id int NOT NULL AUTO_INCREMENT, first_name varchar(255) NOT NULL, last_name varchar(255) NOT NULL,
  email varchar(255) NOT NULL, PRIMARY KEY (id), UNIQUE KEY email (email), KEY ix_id (id)
) AUTO_INCREMENT=1041 CHARSET=utf8mb3;
"""
CHANGES = """
CREATE DATABASE test CHARSET utf8mb3; CREATE DATABASE testDB CHARSET utf8mb3;
CREATE TABLE test.user (name CHAR(20) DEFAULT '', age INT NULL);
CREATE TABLE testDB.test (id BIGINT(20) NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20));
USE test; ALTER TABLE `user` ADD COLUMN `createtime` datetime NULL DEFAULT CURRENT_TIMESTAMP;
USE testDB; rename table test to t_test;
"""
OPTIONS = {
    "schema_change_format": "history",
    "event_format": "1.9",
    "include_schema_changes": True,
    "schema_name_adjustment_mode": "none",
    "database_include_list": ",".join(DATABASES),
    "schema_history_internal_store_only_captured_databases_ddl": True,
}
_CHANCE = frozenset({"ts_sec", "file", "pos", "gtids", "server_id", "server", "version", "name", "ts_ms", "gtid"})
"""What an example has by chance, in the source, the position and the source block."""


@pytest.fixture(scope="module")
def told(mysql_server: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, Any]]]:
    """What the history format tells of a snapshot and the statements behind it."""
    drops = "".join(f"DROP DATABASE IF EXISTS {name};" for name in DATABASES)
    mysql_server.run_sql(drops + SETUP)
    with Capture(config_for(mysql_server, **OPTIONS), tmp_path_factory.mktemp("history")).closing() as reading:
        records = reading.once()
        mysql_server.run_sql(CHANGES)
        records += reading.once()
    yield _values(records, schemas=False)
    mysql_server.run_sql(drops)


def _values(records: Sequence[Record], *, schemas: bool) -> list[dict[str, Any]]:
    serializer = JsonSerializer(JsonConfig.model_validate({"schemas.enable": schemas}))
    return [json.loads(value or b"") for value in serializer.serialize(records).values]


@pytest.mark.parametrize("name", ["create_database", "drop_database", "create_table", "alter_table", "drop_table"])
def test_documents_of_the_history_are_the_manuals(name: str, told: list[dict[str, Any]]) -> None:
    expected = json.loads((DATA / "subscription" / f"{name}.json").read_text(encoding="utf-8"))
    ddl = _comparable_text(expected["ddl"])
    [found] = [document for document in told if _comparable_text(document["ddl"]) == ddl]
    assert _comparable(found) == _comparable(expected)
    assert list(found["position"]) == list(expected["position"])


def test_a_new_name_is_told_as_debezium_1_9_tells_it(told: list[dict[str, Any]]) -> None:
    expected = json.loads((DATA / "subscription" / "rename_table.json").read_text(encoding="utf-8"))
    [found] = [document for document in told if document["ddl"].startswith("rename")]
    assert _comparable(found) == _comparable(expected)
    assert list(found) == list(expected)


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: "…" if name in _CHANCE and "jdbcType" not in value else _comparable(v) for name, v in value.items()
        }
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    return _comparable_text(value) if isinstance(value, str) else value


def _comparable_text(text: str) -> str:
    """A statement as a server printed it in which utf8 had no other name yet, and which left the collation out."""
    return re.sub(r"CHARSET=utf8mb3.*|CHARSET=utf8$", "CHARSET=utf8", re.sub(r"\s+", " ", text)).replace(
        "utf8mb3", "utf8"
    )


@pytest.fixture
def changes_of(capture: NewCapture, sql: Callable[[str], None]) -> Callable[..., list[Record]]:
    """What the schema-change topic is told of a script in the test's own database, without its snapshot."""

    def told_of(script: str, **options: Any) -> list[Record]:
        given = {"include_schema_changes": True, **options}
        capture(snapshot_mode="no_data", **given).once()
        sql(script)
        return [record for record in capture(snapshot_mode="no_data", **given).once() if record.topic == "p"]

    return told_of


def test_events_of_1_1_are_the_manuals(changes_of: Callable[..., list[Record]], database: str) -> None:
    example = {
        name: json.loads((DATA / "manual-1.1" / f"schema_change_{name}.json").read_text()) for name in ("key", "value")
    }
    statement = example["value"]["payload"]["ddl"].partition("; ")[0]
    records = changes_of(statement, event_format="1.1", schema_name_adjustment_mode="none")
    [value] = _values(records, schemas=True)
    assert {**value["payload"], "source": None} == {"databaseName": database, "ddl": f"{statement};", "source": None}
    assert list(value["payload"]) == ["databaseName", "ddl", "source"]
    fields = {field["field"]: field for field in value["schema"]["fields"]}
    theirs = {field["field"]: field for field in example["value"]["schema"]["fields"]}
    assert (fields["databaseName"], fields["ddl"]) == (theirs["databaseName"], theirs["ddl"])
    key = json.loads(JsonSerializer(JsonConfig()).serialize(records).keys[0] or b"")
    connector = value["payload"]["source"]["connector"]
    wanted = (
        json.dumps(example["key"]).replace("connector.mysql", f"connector.{connector}").replace("inventory", database)
    )
    assert key == json.loads(wanted)


def test_one_statement_over_several_databases_gives_one_event_each(
    changes_of: Callable[..., list[Record]], database: str, sql: Callable[[str], None]
) -> None:
    other = f"{database}_b"
    sql(f"CREATE DATABASE {other}; CREATE TABLE {other}.y (i INT); CREATE TABLE x (i INT); CREATE TABLE z (i INT);")
    drop = f"DROP TABLE {database}.x, {database}.z, {other}.y;"
    records = changes_of(drop, database_include_list=f"{database},{other}", event_format="1.1")
    assert [(record.value["databaseName"], record.value["ddl"]) for record in records] == [  # type: ignore[index,call-overload]
        (database, f"DROP TABLE `{database}`.`x`; DROP TABLE `{database}`.`z`;"),
        (other, f"DROP TABLE `{other}`.`y`;"),
    ]
    sql(f"CREATE TABLE {other}.y (i INT); CREATE TABLE x (i INT); CREATE TABLE z (i INT);")
    records = changes_of(drop, database_include_list=f"{database},{other}")
    told = [(record.value["databaseName"], record.value["source"]["table"]) for record in records]  # type: ignore[index,call-overload]
    assert [(name, set(tables.split(","))) for name, tables in told] == [
        (database, {"x", "z"}),
        (database, {"x", "z"}),
        (other, {"y"}),
    ]
    assert [record.partition for record in records] == [0, 0, 0]
    sql(f"DROP DATABASE {other};")
