"""The schema-change topic: equal to Debezium's recordings, on live servers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from mysql.capture import Capture, changes
from mysql.conftest import NewCapture
from mysql.recordings import DATA, JSON_HEADERS, Event, by_topic, read_events, take_events
from mysql.test_parity import assert_same
from testkit.servers.mysql_family import SQLServer

SERVERS = {"mysql97": "mysql_server", "mysql56": "mysql56_server", "mariadb1011": "mariadb_server"}
RECORDINGS = (
    ("mysql97-mysql-3.6.3", "ddl"),
    ("mysql97-mysql-3.6.3", "ddl-schema"),
    ("mariadb1011-mariadb-3.5.0", "ddl"),
    ("mariadb1011-mariadb-3.5.0", "ddl-schema"),
    ("mysql56-mysql-3.6.3", "ddl"),
    ("mysql56-mysql-1.9.7", "ddl"),
    ("mariadb1011-mysql-1.9.7", "ddl"),
)
TOPIC = "g"
_ACCIDENTS = re.compile(r"(?<=^SET character_set_server=).*|(?<=DEFINER=)`[^`]*`@`[^`]*`")
"""What a statement of the server tells of its setup."""


@pytest.mark.unequal("older events lack the defaults of new columns, and no event tells of TRUNCATE, DROP and RENAME")
@pytest.mark.parametrize(("target", "scenario"), RECORDINGS)
def test_events_equal_the_recording(target: str, scenario: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: SQLServer = request.getfixturevalue(SERVERS[target.partition("-")[0]])
    configuration = DATA / target / scenario / "conf.properties"
    old = target.endswith("1.9.7")
    for part, script in (("snapshot", "setup"), ("stream", "stream")):
        server.run_sql_file(DATA / "sql" / f"ddl.{script}.sql", force=True)
        output = tmp_path / "out.jsonl"
        overrides = [
            JSON_HEADERS,
            f"sink.path={output}",
            f"state={tmp_path / 'state'}",
            f"source.database.port={server.port}",
        ]
        pipeline = load_pipeline(
            configuration, [*overrides, *(["source.event.format=1.9"] if old else [])], runner="direct", sink="file"
        )
        DirectRunner(pipeline).run(once=True)
        recorded = read_events(DATA / target / scenario / f"{part}.jsonl")
        assert_same(by_topic(_comparable(recorded, old=old)), by_topic(_comparable(take_events(output), old=old)))


def _comparable(events: Iterable[Event], *, old: bool) -> Iterator[Event]:
    """Events without what is known to differ.

    Debezium forgets a table's comment at a restart, and gives a table made LIKE another none. 1.9.7 does not understand
    CONVERT TO CHARACTER SET, and leaves INT's length to a column that becomes BIGINT; its headers were not recorded.
    """
    for event in events:
        known = {**event, "headers": []} if old else event
        if event["topic"] == TOPIC:
            yield _righted(known, old=old)
        else:
            yield _with_characters(known) if old else known


def _righted(event: Event, *, old: bool) -> Event:
    value = event["value"]
    payload = value.get("payload", value)
    payload["ddl"] = _ACCIDENTS.sub("…", payload["ddl"])
    converted = old and "CONVERT TO" in payload["ddl"]
    for change in payload["tableChanges"]:
        table = change["table"]
        if table is None:
            continue
        if payload["source"]["snapshot"] == "false" and "prod2" not in payload["ddl"]:
            table["comment"] = "…"
        if converted:
            table["defaultCharsetName"] = "latin1"
        for column in table["columns"]:
            _right_column(column, old=old, converted=converted)
    return event


def _right_column(column: dict[str, Any], *, old: bool, converted: bool) -> None:
    if old and column["typeName"] == "BIGINT":
        column["length"] = None
    if converted and column["charsetName"] is not None:
        column["charsetName"] = "latin1"


def _with_characters(event: Event) -> Event:
    row = event["value"]["after"]
    return event if row is None else {**event, "value": {**event["value"], "after": _mended(row)}}


def _mended(row: dict[str, Any]) -> dict[str, Any]:
    return {name: "é" if value == "\ufffd" else value for name, value in row.items()}


@pytest.mark.parametrize("snapshot_mode", ["initial", "no_data"])
def test_runners_tell_the_same(
    capture: NewCapture, sql: Callable[[str], None], snapshot_mode: str, tmp_path: Path, db_server: SQLServer
) -> None:
    """Splits that are read by other processes tell what one process tells, and positions still sort."""
    options = {"include_schema_changes": True, "snapshot_mode": snapshot_mode}
    options["schema_history_internal_store_only_captured_databases_ddl"] = True
    sql("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'c'; CREATE TABLE u (id INT); INSERT INTO t VALUES (1), (2);")
    reading = capture(**options)
    parts = reading.parallel(2)
    sql("ALTER TABLE t ADD v INT; INSERT INTO t VALUES (3, 4); DROP TABLE u;")
    parts += reading.parallel(2)
    with Capture(reading.config, tmp_path / "whole").closing() as whole:
        sql("DROP TABLE t; CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'c'; CREATE TABLE u (id INT);")
        sql("INSERT INTO t VALUES (1), (2);")
        expected = whole.once()
        sql("ALTER TABLE t ADD v INT; INSERT INTO t VALUES (3, 4); DROP TABLE u;")
        expected += whole.once()
    found = [record for part in parts for record in part]
    assert _told(found) == _told(expected)
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))


def _told(records: list[Record]) -> list[tuple[Any, ...]]:
    """What records say but for times and places; only the snapshot's rows have marks by which runners differ."""
    return [_said(record.value) for record in records if isinstance(record.value, Struct)]


def _said(value: Struct) -> tuple[Any, ...]:
    if "ddl" in value:
        return value["source"]["snapshot"], value["ddl"], [change.to_dict() for change in value["tableChanges"]]
    return value["op"], value["after"].values


def test_a_table_keeps_its_comment_over_a_restart_and_gives_it_to_its_like(
    capture: NewCapture, sql: Callable[[str], None]
) -> None:
    options = {"include_schema_changes": True, "include_schema_comments": True}
    sql("CREATE TABLE t (id INT PRIMARY KEY) COMMENT 'c';")
    capture(**options).once()
    sql("ALTER TABLE t ADD v INT COMMENT 'd'; CREATE TABLE u LIKE t;")
    tables = [record.value["tableChanges"][0]["table"] for record in capture(**options).once()]  # type: ignore[index,call-overload]
    assert [(table["comment"], table["columns"][1]["comment"]) for table in tables] == [("c", "d"), ("c", "d")]


def test_a_streamed_boolean_is_one(capture: NewCapture, sql: Callable[[str], None]) -> None:
    """The server knows no such type: a snapshot finds TINYINT(1), the log has the statement as it was written."""
    sql("CREATE TABLE s (id INT PRIMARY KEY, b BOOLEAN); INSERT INTO s VALUES (1, TRUE);")
    assert changes(capture().once()) == [("r", "s", None, (1, 1))]
    sql("CREATE TABLE t (id INT PRIMARY KEY, b BOOLEAN DEFAULT TRUE, c BOOL); INSERT INTO t (id, c) VALUES (1, FALSE);")
    assert [change[3] for change in changes(capture().once())] == [(1, True, False)]
    sql("UPDATE t SET b = NULL;")
    assert [change[2:] for change in changes(capture().once())] == [((1, True, False), (1, None, False))]
