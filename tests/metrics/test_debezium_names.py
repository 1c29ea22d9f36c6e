"""The metrics under the names of Debezium's connectors, as boards that are there already ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from cdckit.api.sink import QueueFill
from cdckit.engine.metrics.collector import collectors
from cdckit.engine.metrics.debezium_names import DEBEZIUM_NAMES
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.names import Names
from metrics.scraping import Scrape, holds, scrape
from metrics.test_mysql import CHANGES, pipeline, url_of
from testkit.servers.mysql import MySQLServer

ASKED_FOR = Path(__file__).with_name("debezium_board_names.txt").read_text(encoding="utf-8").split()
"""Every metric of Debezium that the boards of its examples' repository ask for."""
ROOT = Path(__file__).parents[2]


def served(names: Names, source: str = "mysql") -> Scrape:
    figures = Figures("p", source, "shop", "direct", queue=lambda: QueueFill(3, 10, 1000))
    figures.snapshot.begin({"a.b": 3})
    figures.tables.add({"a.b": {"c": 2, "u": 1}, "a.c": {"d": 4, "t": 1}}, 0.0)
    registry = CollectorRegistry()
    for collector in collectors(figures, names, {"region": "eu", "context": "theirs"}):
        registry.register(collector)
    return Scrape([(one.name, dict(one.labels), one.value) for family in registry.collect() for one in family.samples])


def test_every_name_that_boards_ask_for() -> None:
    found = {name for name, _, _ in served("debezium").samples}
    assert set(ASKED_FOR) - found == set()
    of_mongodb = {name for name, _, _ in served("debezium", "mongodb").samples}
    assert found | of_mongodb == {metric.name for metric in DEBEZIUM_NAMES}


@pytest.mark.parametrize(
    ("names", "ours", "theirs"), [("cdckit", True, False), ("debezium", False, True), ("both", True, True)]
)
def test_whose_names(names: Names, ours: bool, theirs: bool) -> None:
    now = served(names)
    assert bool(now.of("cdckit_running", pipeline="p", server="shop", region="eu")) == ours
    assert bool(now.of("debezium_metrics_Connected", plugin="mysql", name="shop", region="eu")) == theirs


def test_room_in_the_queue() -> None:
    now = served("debezium")
    assert now.value("debezium_metrics_QueueTotalCapacity", context="streaming") == 10
    assert now.value("debezium_metrics_QueueRemainingCapacity", context="streaming") == 7


def test_events_by_table() -> None:
    now = served("debezium")
    assert now.value("debezium_metrics_create_events_count", plugin="mysql", context="streaming", table="a.b") == 2
    seen = {
        kind: now.by(f"debezium_metrics_NumberOf{kind}EventsSeen", "table")
        for kind in ("Create", "Update", "Delete", "Truncate")
    }
    assert seen == {
        "Create": {"a.b": 2, "a.c": 0},
        "Update": {"a.b": 1, "a.c": 0},
        "Delete": {"a.b": 0, "a.c": 4},
        "Truncate": {"a.b": 0, "a.c": 1},
    }


def test_sources_have_what_their_connector_has() -> None:
    found = {(name, labels["context"]) for name, labels, _ in served("debezium", "mongodb").samples}
    assert ("debezium_metrics_NumberOfPrimaryElections", "streaming") in found
    assert ("debezium_metrics_NumberOfDisconnects", "snapshot") in found
    assert not {name for name, context in found if context == "schema-history" or "Binlog" in name}


def test_a_pipeline_as_debezium_tells_of_it(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    found = pipeline(mysql_server, unique_name, tmp_path, "127.0.0.1:0", custom_metric_tags="region=eu")
    found.others["metrics.names"] = "debezium"  # type: ignore[index]
    with found.running() as running:
        url = url_of(running)
        running.wait_until(holds(url, lambda now: _of(now, "Connected") == 1), "the stream")
        mysql_server.run_sql(CHANGES, database=unique_name)
        running.wait_until(holds(url, _has_all_changes), "the changes")
        now = scrape(url)
        assert running.stop().code == 0
    assert [_of(now, f"TotalNumberOf{kind}EventsSeen") for kind in ("Create", "Update", "Delete")] == [1, 2, 1]
    assert _of(now, "NumberOfEventsFiltered") == 1
    assert _of(now, "BinlogPosition") > 4
    assert _of(now, "MilliSecondsBehindSource") == 0
    assert 0 <= _of(now, "MilliSecondsSinceLastEvent") < 300_000
    assert _of(now, "TotalNumberOfEventsSeen", "snapshot") == 3
    assert [_of(now, f"Snapshot{state}", "snapshot") for state in ("Running", "Completed", "Aborted")] == [0, 1, 0]
    assert now.by("debezium_metrics_RowsScanned", "table") == {f"{unique_name}.orders": 3, f"{unique_name}.notes": 0}
    assert now.by("debezium_metrics_create_events_count", "table") == {
        f"{unique_name}.orders": 1,
        f"{unique_name}.notes": 0,
    }
    assert _of(now, "ChangesApplied", "schema-history") >= 2
    assert 0 <= _of(now, "MilliSecondsSinceLastAppliedChange", "schema-history") < 300_000
    assert now.of("cdckit_running") == []


def _has_all_changes(now: Scrape) -> bool:
    """Whether it has come to the end, where a row of a table stands that is not captured."""
    wanted = {"TotalNumberOfEventsSeen": 5, "NumberOfEventsFiltered": 1, "MilliSecondsBehindSource": 0}
    return {name: _of(now, name) for name in wanted} == wanted


def _of(now: Scrape, attribute: str, context: str = "streaming") -> float:
    return now.value(f"debezium_metrics_{attribute}", plugin="mysql", name="p", context=context, region="eu")


def test_each_is_told_of_in_the_docs() -> None:
    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [one.name for one in DEBEZIUM_NAMES if f"`{one.name.removeprefix('debezium_metrics_')}`" not in text] == []
