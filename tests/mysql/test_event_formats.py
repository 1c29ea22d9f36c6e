"""Old formats of events, and servers whose log says less, equal to Debezium's recordings on live servers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.config.loading import load_pipeline
from cdckit.runners.direct import DirectRunner
from mysql.recordings import DATA, ByTopic, Event, by_topic, read_events
from mysql.test_parity import assert_same, workload_of
from servers.mysql_family import SQLServer

SCENARIOS = {
    "mysql56-mysql-3.6.3": ("dml", "types", "ddl"),
    "mysql56-mysql-1.9.7": ("dml", "types", "ddl"),
    "mariadb1011-mysql-1.9.7": ("dml", "dml-schema", "types", "ddl"),
}
SERVERS = {"mysql56": "mysql56_server", "mariadb1011": "mariadb_server"}
SCHEMA_CHANGES = "g"
"""The topic of changes of definitions, which these tests leave out."""


@pytest.mark.parametrize(
    ("target", "scenario"), [(target, name) for target, names in SCENARIOS.items() for name in names]
)
def test_events_equal_the_recording(target: str, scenario: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: SQLServer = request.getfixturevalue(SERVERS[target.partition("-")[0]])
    configuration = DATA / target / scenario / "conf.properties"
    workload = workload_of(configuration)
    for part, script in (("snapshot", "setup"), ("stream", "stream")):
        server.run_sql_file(DATA / "sql" / f"{workload}.{script}.sql", force=True)
        output = tmp_path / f"{part}.jsonl"
        _run(configuration, server, output, tmp_path / "state")
        expected = _comparable(DATA / target / scenario / f"{part}.jsonl", old=_is_old(target))
        assert_same(expected, _comparable(output, old=_is_old(target)))


def _is_old(target: str) -> bool:
    return target.endswith("1.9.7")


def _run(configuration: Path, server: SQLServer, output: Path, state: Path) -> None:
    overrides = [
        f"sink.path={output}",
        f"state={state}",
        f"source.database.port={server.port}",
        "source.include.schema.changes=false",
        "source.include.schema.comments=false",
    ]
    if _is_old(configuration.parents[1].name):
        overrides.append("source.event.format=1.9")
    DirectRunner(load_pipeline(configuration, overrides, runner="direct", sink="file")).run(once=True)


def _comparable(path: Path, *, old: bool) -> ByTopic:
    events = (event for event in read_events(path) if event["topic"] != SCHEMA_CHANGES)
    return by_topic(_as_recorded(events) if old else events)


def _as_recorded(events: Iterable[Event]) -> Iterator[Event]:
    """Events of 1.9.7 as they can be compared.

    Whoever recorded them could not read headers. And Debezium 1.9.7 goes on to read UTF-8 in a table that
    `CONVERT TO CHARACTER SET latin1` has changed, so that `é` became U+FFFD: the right character is right.
    """
    for event in events:
        yield {**event, "headers": [], "value": _mended(event["value"])}


def _mended(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _mended(member) for name, member in value.items()}
    return "é" if value == "\ufffd" else value
