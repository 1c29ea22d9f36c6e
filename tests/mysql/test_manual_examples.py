"""Debezium 1.1's events are those that its manual shows, for the manual's table and rows on a live server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from mysql.recordings import Event, take_events
from testkit.servers.mysql import MySQLServer

DATA = Path(__file__).parents[1] / "data"
MANUALS = ("manual-1.1", "subscription")
NAMES = {"io.product.connector.mysql.Source": "io.debezium.connector.mysql.Source"}
"""Where the manual's product has put its own name."""
OF_THE_SERVER = frozenset({"version", "ts_ms", "server_id", "gtid", "file", "pos", "thread"})
"""What the source block of an example has by chance."""

SETUP = """
DROP DATABASE IF EXISTS inventory; CREATE DATABASE inventory CHARACTER SET utf8mb4; USE inventory;
CREATE TABLE customers (
  id INTEGER NOT NULL AUTO_INCREMENT PRIMARY KEY,
  first_name VARCHAR(255) NOT NULL,
  last_name VARCHAR(255) NOT NULL,
  email VARCHAR(255) NOT NULL UNIQUE KEY
) AUTO_INCREMENT=1001;
INSERT INTO customers (first_name, last_name, email) VALUES ('a', 'b', 'c'), ('d', 'e', 'f'), ('g', 'h', 'i');
"""
CHANGES = """
USE inventory;
INSERT INTO customers (first_name, last_name, email) VALUES ('Anne', 'Kretchmar', 'annek@noanswer.org');
UPDATE customers SET first_name='Anne Marie' WHERE id=1004;
DELETE FROM customers WHERE id=1004;
"""
CONFIGURATION = """
connector.class=io.debezium.connector.mysql.MySqlConnector
database.server.name=mysql-server-1
database.hostname=127.0.0.1
database.user=dbz
database.password=dbz
include.schema.changes=false
include.query=true
event.format=1.1
schema.name.adjustment.mode=none
"""
"""The examples' names are not adjusted for Avro, although the text beside them says that all names are."""
COLUMNS = {
    "BOOLEAN": ("int16", None),
    "BIT(1)": ("boolean", None),
    "BIT(9)": ("bytes", "io.debezium.data.Bits"),
    "TINYINT": ("int16", None),
    "SMALLINT(5)": ("int16", None),
    "MEDIUMINT": ("int32", None),
    "INTEGER": ("int32", None),
    "BIGINT": ("int64", None),
    "FLOAT": ("double", None),
    "FLOAT(7,3)": ("double", None),
    "DOUBLE": ("double", None),
    "CHAR(3)": ("string", None),
    "VARCHAR(3)": ("string", None),
    "BINARY(3)": ("bytes", None),
    "VARBINARY(3)": ("bytes", None),
    "TINYBLOB": ("bytes", None),
    "LONGTEXT": ("string", None),
    "JSON": ("string", "io.debezium.data.Json"),
    "ENUM('a')": ("string", "io.debezium.data.Enum"),
    "SET('a')": ("string", "io.debezium.data.EnumSet"),
    "YEAR": ("int32", "io.debezium.time.Year"),
    "TIMESTAMP(6)": ("string", "io.debezium.time.ZonedTimestamp"),
    "DATE": ("int32", "io.debezium.time.Date"),
    "TIME(3)": ("int64", "io.debezium.time.MicroTime"),
    "DATETIME(3)": ("int64", "io.debezium.time.Timestamp"),
    "DATETIME(6)": ("int64", "io.debezium.time.MicroTimestamp"),
    "NUMERIC(5,2)": ("bytes", "org.apache.kafka.connect.data.Decimal"),
    "GEOMETRY": ("struct", "io.debezium.data.geometry.Geometry"),
}
"""The manual's literal and semantic types (2.1.5); of BOOLEAN it says that a snapshot finds TINYINT(1)."""


@pytest.fixture(scope="module")
def events(mysql_server: MySQLServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Event]]:
    """The events of the manual's table: three rows that a snapshot finds, then a row that comes, changes and goes."""
    folder = tmp_path_factory.mktemp("manual")
    mysql_server.run_sql(SETUP)
    found = _read(mysql_server, folder)
    mysql_server.run_sql(CHANGES)
    found += _read(mysql_server, folder)
    yield dict(zip(("first", "second", "last", "create", "update", "delete", "tombstone"), found, strict=True))
    mysql_server.execute("DROP DATABASE inventory")


def _read(server: MySQLServer, folder: Path, database: str = "inventory") -> list[Event]:
    configuration = folder / "conf.properties"
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    output = folder / "out.jsonl"
    overrides = [f"sink.path={output}", f"state={folder / 'state'}", f"source.database.port={server.port}"]
    overrides.append(f"source.database.include.list={database}")
    DirectRunner(load_pipeline(configuration, overrides, runner="direct", sink="file")).run(once=True)
    return take_events(output)


def _example(manual: str, name: str) -> Any:
    text = (DATA / manual / f"{name}.json").read_text(encoding="utf-8")
    for theirs, debeziums in NAMES.items():
        text = text.replace(theirs, debeziums)
    return json.loads(text)


@pytest.mark.parametrize("manual", MANUALS)
def test_the_key_is_the_examples(manual: str, events: dict[str, Event]) -> None:
    assert events["first"]["key"] == _example(manual, "key")
    assert events["first"]["topic"] == "mysql-server-1.inventory.customers"


@pytest.mark.parametrize("name", ["create", "update", "delete"])
@pytest.mark.parametrize("manual", MANUALS)
def test_a_value_is_the_examples(manual: str, name: str, events: dict[str, Event]) -> None:
    example, found = _example(manual, name), events[name]["value"]
    assert found["schema"] == example.get("schema", _example(manual, "create")["schema"])
    assert _settled(found["payload"]) == _settled(example["payload"])
    assert events[name]["key"]["payload"] == {"id": 1004}


def _settled(payload: Event) -> Event:
    """A payload without what the clock and the server decide."""
    source = {name: value for name, value in payload["source"].items() if name not in OF_THE_SERVER}
    return {**payload, "ts_ms": None, "source": source}


def test_the_members_that_the_server_decides_are_there(events: dict[str, Event]) -> None:
    source = events["create"]["value"]["payload"]["source"]
    assert list(source) == list(_example("manual-1.1", "create")["payload"]["source"])
    assert all(source[name] is not None for name in OF_THE_SERVER)


def test_rows_of_a_snapshot_are_marked_by_true(events: dict[str, Event]) -> None:
    marks = [events[name]["value"]["payload"]["source"]["snapshot"] for name in ("first", "second", "last")]
    assert marks == [True, True, True]


def test_a_delete_is_followed_by_a_tombstone(events: dict[str, Event]) -> None:
    assert events["tombstone"]["key"] == events["delete"]["key"]
    assert events["tombstone"]["value"] is None


def test_columns_have_the_manuals_types(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    columns = ", ".join(f"c{place} {declared}" for place, declared in enumerate(COLUMNS))
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t ({columns});")
    mysql_server.run_sql(f"INSERT INTO {unique_name}.t () VALUES (); UPDATE {unique_name}.t SET c20 = 2018, c8 = 0.1;")
    try:
        (record,) = _read(mysql_server, tmp_path, unique_name)
    finally:
        mysql_server.execute(f"DROP DATABASE {unique_name}")
    before = record["value"]["schema"]["fields"][0]
    assert {
        declared: (field["type"], field.get("name")) for declared, field in zip(COLUMNS, before["fields"], strict=True)
    } == COLUMNS
    row = record["value"]["payload"]["after"]
    assert (row["c20"], row["c8"]) == (2018, 0.10000000149011612)
