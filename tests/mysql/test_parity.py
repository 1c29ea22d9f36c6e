"""Every event equal to Debezium's recordings, on live servers, with the connector's configuration as it is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from mysql.recordings import DATA, HEARTBEATS, JSON_HEADERS, ByTopic, by_topic, recorded, take_events
from testkit.servers.mysql_family import SQLServer

SCENARIOS = (
    "dml",
    "dml-schema",
    "dml-notombstone",
    "types",
    "types-noschema",
    "types-alt1",
    "types-alt2",
    "types-alt3",
    "smt-unwrap",
    "smt-unwrap-default",
    "smt-route",
    "smt-outbox",
    "heartbeat",
    "cloudevents",
    "filters",
    "signal",
)
TARGETS = {"mysql97-mysql-3.6.3": "mysql_server", "mariadb1011-mariadb-3.5.0": "mariadb_server"}
OPTIONS = (
    "columns-masked",
    "columns-cut-and-typed",
    "converters-booleans",
    "converters-jdbc-sink",
    "converters-zero-dates",
    "topics-regex",
    "topics-table",
    "topics-unicode",
)
"""Recorded of MySQL alone: what options for columns and topics make of one workload."""
RECORDED = [*product(TARGETS, SCENARIOS), *product(["mysql97-mysql-3.6.3"], OPTIONS)]


def marked(recorded: Iterable[tuple[str, str]]) -> Iterator[ParameterSet]:
    """What was recorded, and where topics do not come to the tables, as Debezium's do not."""
    for target, scenario in recorded:
        why = ""
        if scenario in ("dml-notombstone", "smt-unwrap", "smt-unwrap-default"):
            why = "TRUNCATE is told to nobody"
        elif scenario.startswith("types") and target.startswith("mariadb"):
            why = "a zero TIMESTAMP is null where rows are read, and 1970 in MariaDB's log"
        yield pytest.param(target, scenario, marks=[pytest.mark.unequal(why)] if why else [])


@pytest.mark.parametrize(("target", "scenario"), list(marked(RECORDED)))
def test_events_equal_the_recording(target: str, scenario: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: SQLServer = request.getfixturevalue(TARGETS[target])
    configuration = DATA / target / scenario / "conf.properties"
    workload = workload_of(configuration)
    for part, script in (("snapshot", "setup"), ("stream", "stream")):
        server.run_sql_file(DATA / "sql" / f"{workload}.{script}.sql")
        events = _run(configuration, server, tmp_path / "out.jsonl", tmp_path / "state")
        assert_same(recorded(target, scenario, part), events)


def workload_of(configuration: Path) -> str:
    """The name of the scripts, which the recording's first line tells."""
    first = configuration.read_text(encoding="utf-8").partition("\n")[0]
    return first.partition("sql/")[2].partition(".setup")[0]


def _run(configuration: Path, server: SQLServer, output: Path, state: Path) -> ByTopic:
    overrides = [JSON_HEADERS, f"sink.path={output}", f"state={state}", f"source.database.port={server.port}"]
    if "heartbeat.interval.ms" in configuration.read_text(encoding="utf-8"):
        overrides.append("source.heartbeat.interval.ms=1")  # a run is over before the recording's interval is
    pipeline = load_pipeline(configuration, overrides, runner="direct", sink="file")
    DirectRunner(pipeline).run(once=True)
    return by_topic(take_events(output))


def assert_same(expected: ByTopic, found: ByTopic) -> None:
    """Whether a heartbeat falls into a run depends on the clock."""
    expected = {
        topic: events for topic, events in expected.items() if topic in found or not topic.startswith(HEARTBEATS)
    }
    assert sorted(found) == sorted(expected)
    for topic, events in expected.items():
        difference = list(difflib.unified_diff(events, found[topic], "recorded", "found", n=0, lineterm=""))
        assert not difference, f"{topic}:\n" + "\n".join(difference[:8])
