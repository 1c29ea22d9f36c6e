"""`source.struct.version=v1`: the source block of Debezium before 0.10, equal to a recording of Debezium 1.1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.api.struct import Struct
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.errors import ConfigError
from cdckit.tables.shapes import EnvelopeShape
from mysql.capture import config_for
from mysql.conftest import NewCapture
from mysql.first_blocks import masked, of_run, recorded
from testkit.servers.mysql56 import MySQL56Server
from testkit.servers.mysql_family import SQLServer

SETUP = """
DROP DATABASE IF EXISTS inv; CREATE DATABASE inv; USE inv;
CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY);
INSERT INTO a VALUES (1),(2); INSERT INTO b VALUES (1),(2),(3);
"""
CHANGES = """
USE inv; INSERT INTO a VALUES (5),(6); UPDATE a SET id=7 WHERE id=6; DELETE FROM b WHERE id=1;
"""
CONFIGURATION = """
connector.class=io.debezium.connector.mysql.MySqlConnector
database.server.name=g
database.hostname=127.0.0.1
database.user=dbz
database.password=dbz
database.whitelist=inv
include.schema.changes=false
include.query=true
source.struct.version=v1
event.format=1.1
"""
OF_THE_SERVER = frozenset({"version", "gtid", "file", "pos", "thread"})
"""What a block has by chance; the time is one as well, but not in a snapshot."""


def test_blocks_equal_those_of_debezium_1_1(mysql56_server: MySQL56Server, tmp_path: Path) -> None:
    (tmp_path / "c.properties").write_text(CONFIGURATION)
    output = tmp_path / "events.jsonl"
    mysql56_server.run_sql(SETUP)
    settings = [f"sink.path={output}", f"state={tmp_path}/state", f"source.database.port={mysql56_server.port}"]
    for script in ("", CHANGES):
        mysql56_server.run_sql(script)
        pipeline = load_pipeline(tmp_path / "c.properties", settings, runner="direct", sink="file")
        DirectRunner(pipeline).run(once=True)
    (schema, found), (expected_schema, expected) = of_run(output), recorded("mysql-1.1.2")
    assert schema == expected_schema
    for event in (*found, *expected):
        event["source"]["ts_sec"] = event["source"]["ts_sec"] > 0
    assert masked(found, OF_THE_SERVER) == masked(expected, OF_THE_SERVER)


def test_a_snapshot_in_the_format_1_9_tells_when_it_read(capture: NewCapture, sql: Callable[[str], None]) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    made = capture(event_format="1.9", source_struct_version="v1").once()
    blocks = [record.value["source"] for record in made if isinstance(record.value, Struct)]
    assert [block["snapshot"] for block in blocks] == [True, True]
    assert all(block["ts_sec"] > 1_700_000_000 for block in blocks)


def test_changes_of_definitions_have_it_too(capture: NewCapture, sql: Callable[[str], None], database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY)")
    options = {"event_format": "1.1", "source_struct_version": "v1", "include_schema_changes": True}
    capture(**options).once()
    sql("ALTER TABLE t ADD COLUMN c INT")
    (change,) = capture(**options).once()
    assert isinstance(change.value, Struct)
    source = change.value["source"]
    assert (source["db"], source["table"], source["snapshot"]) == (database, "t", None)
    assert source["ts_sec"] > 1_700_000_000


def test_columns_of_a_changelog_are_filled(capture: NewCapture, sql: Callable[[str], None], database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)")
    (record,) = capture(event_format="1.9", source_struct_version="v1").once()
    assert isinstance(record.value, Struct)
    facts = EnvelopeShape(record.value.schema).facts(record.value.values)
    assert (facts.db, facts.table) == (database, "t")
    assert facts.source_ts_ms == record.value["source"]["ts_sec"] * 1000


def test_newer_events_do_not_have_it(db_server: SQLServer) -> None:
    with pytest.raises(ConfigError, match=r"set event\.format to 1\.9"):
        config_for(db_server, source_struct_version="v1")
