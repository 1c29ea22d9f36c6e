"""Every column type in every handling mode, against Debezium's recordings: values and schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from cdckit.connector.connect_json.schema import schema_to_json
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.values import ValueOptions
from mysql.decoding.reading import Reading, Row, as_json, row_schema
from mysql.recordings import DATA, read_events
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

DATABASE = "g_types"
SCENARIOS = {
    "types": ValueOptions(),
    "types-noschema": ValueOptions(),
    "types-alt1": ValueOptions(
        decimal_mode="string", time_mode="connect", bigint_unsigned_mode="precise", binary_mode="base64"
    ),
    "types-alt2": ValueOptions(
        decimal_mode="double", time_mode="isostring", binary_mode="hex", propagates_type=lambda _table, _column: True
    ),
    "types-alt3": ValueOptions(
        decimal_mode="string",
        time_mode="microseconds",
        binary_mode="base64-url-safe",
        propagates_type=lambda _table, _column: True,
    ),
}
OPERATIONS = {"write": "c", "update": "u", "delete": "d"}


@pytest.fixture(scope="module")
def workload(db_server: SQLServer) -> Iterator[tuple[Reading, list[LogEvent]]]:
    """The recordings' tables with the rows of the snapshot, and the events of what was done to them after it."""
    reading = Reading(db_server, DATABASE)
    db_server.run_sql_file(DATA / "sql" / "types.setup.sql")
    start = reading.position()
    db_server.run_sql_file(DATA / "sql" / "types.stream.sql")
    yield reading, reading.events(start)
    db_server.execute(f"DROP DATABASE {DATABASE}")


def recorded(reading: Reading, scenario: str, part: str) -> list[dict[str, Any]]:
    target = "mariadb1011-mariadb-3.5.0" if isinstance(reading.server, MariaDBServer) else "mysql97-mysql-3.6.3"
    found = []
    for event in read_events(DATA / target / scenario / f"{part}.jsonl"):
        value = event["value"]
        if isinstance(value, dict) and "op" in value.get("payload", value):
            payload = value.get("payload", value)
            table = event["topic"].rsplit(".", 1)[-1]
            found.append({"table": table, **payload, "schema": value.get("schema")})
    return found


def before_schema(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The fields of `before`, as the recording describes them."""
    fields: list[dict[str, Any]]
    [fields] = [field["fields"] for field in event["schema"]["fields"] if field["field"] == "before"]
    return fields


def exact(row: Row | None) -> list[tuple[str, str, Any]] | None:
    """A row whose comparison tells 1 from 1.0 and from true, and one order of fields from another."""
    return None if row is None else [(name, type(value).__name__, value) for name, value in row.items()]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_stream_is_as_recorded(workload: tuple[Reading, list[LogEvent]], scenario: str) -> None:
    reading, events = workload
    options = SCENARIOS[scenario]
    schemas = {name: row_schema(reading.values(table, options)) for name, table in reading.tables().items()}
    made = [change for change in reading.changes(events, options) if change[0] in schemas]
    expected = recorded(reading, scenario, "stream")
    assert [(table, OPERATIONS[kind]) for table, kind, _, _ in made] == [(e["table"], e["op"]) for e in expected]
    for (table, _, before, after), event in zip(made, expected, strict=True):
        schema = schemas[table]
        assert exact(as_json(schema, before)) == exact(event["before"])
        assert exact(as_json(schema, after)) == exact(event["after"])


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_snapshot_is_as_recorded(workload: tuple[Reading, list[LogEvent]], scenario: str) -> None:
    reading, _ = workload
    options = SCENARIOS[scenario]
    expected = recorded(reading, scenario, "snapshot")
    for name, table in reading.tables().items():
        schema = row_schema(reading.values(table, options))
        rows = {row["id"]: row for row in reading.selected(table, options)}
        for event in expected:
            if event["table"] == name:
                assert exact(as_json(schema, rows[event["after"]["id"]])) == exact(event["after"])


@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name not in {"types-noschema", "types-alt2"}])
def test_schemas_are_as_recorded(workload: tuple[Reading, list[LogEvent]], scenario: str) -> None:
    reading, _ = workload
    tables = reading.tables()
    seen = set()
    for event in recorded(reading, scenario, "snapshot"):
        values = reading.values(tables[event["table"]], SCENARIOS[scenario])
        assert schema_to_json(row_schema(values))["fields"] == before_schema(event)
        seen.add(event["table"])
    assert seen == set(tables)
