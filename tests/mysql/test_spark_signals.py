"""Signals where Spark's planner reads the log: what it reads stays the same, whatever dies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdckit.connector.signals import Signal
from cdckit.connector.signals.inbox import leave
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.spark.kept_batches import FOLDER
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import SnapshotDueError
from mysql.planned_in_order import InOrder
from mysql.signalling import SIGNALS
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

ROWS = ", ".join(f"({number}, {number % 2})" for number in range(100))


class Shop:
    """A pipeline of a database with the tables `t` (100 rows), `u` and `signals`."""

    def __init__(self, server: SQLServer, database: str, folder: Path) -> None:
        self.server, self.database, self.folder = server, database, folder
        server.run_sql(
            f"USE {database}; {SIGNALS} CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES {ROWS};"
            "CREATE TABLE u (id INT PRIMARY KEY, v INT); INSERT INTO u VALUES (1, 1);"
        )
        create_reader(server)
        server.run_sql(f"GRANT INSERT, DELETE ON {database}.signals TO reader")

    def batches(self, *, ends: bool = True, **options: Any) -> InOrder:
        given = {
            "table_include_list": rf"{self.database}\.[tu]",
            "signal_data_collection": f"{self.database}.signals",
            "signal_poll_interval_ms": 10,
            "incremental_snapshot_chunk_size": 7,
            "snapshot_mode": "no_data",
            "include_schema_changes": False,
        }
        source = source_of(self.server, self.database, **{**given, **options})
        pipeline = load_pipeline(to_file(self.folder, source).written(), runner="spark")
        return InOrder(pipeline, ends=ends, wait_seconds=0.2)

    def ask(self, identifier: str, kind: str = "execute-snapshot", **data: Any) -> None:
        self.server.execute(
            f"INSERT INTO {self.database}.signals VALUES (%s, %s, %s)", (identifier, kind, json.dumps(data))
        )

    def ask_for(self, *tables: str, **data: Any) -> None:
        names = [f"{self.database}.{table}" for table in tables]
        self.ask(f"s{len(names)}", **{"data-collections": names, **data})

    def sql(self, statements: str) -> None:
        self.server.run_sql(f"USE {self.database}; {statements}")

    def rows(self, table: str) -> dict[int, int]:
        return dict(self.server.execute(f"SELECT id, v FROM {self.database}.{table}"))


@pytest.fixture
def shop(db_server: SQLServer, database: str, tmp_path: Path) -> Iterator[Shop]:
    yield Shop(db_server, database, tmp_path)


def _again(events: list[dict[str, Any]], marked: str = "incremental") -> list[int]:
    return [event["value"]["after"]["id"] for event in events if event["value"] and _mark(event) == marked]


def _mark(event: dict[str, Any]) -> str:
    return str(event["value"].get("source", {}).get("snapshot"))


def _newest(events: list[dict[str, Any]], topic: str) -> dict[int, int]:
    rows: dict[int, int] = {}
    for event in events:
        if event["topic"] == topic and event["value"]:
            value = event["value"]
            if value["op"] == "d":
                rows.pop(value["before"]["id"], None)
            else:
                rows[value["after"]["id"]] = value["after"]["v"]
    return rows


def test_a_table_is_read_again(shop: Shop) -> None:
    batches = shop.batches()
    batches.run()
    shop.ask_for("t")
    shop.sql("UPDATE t SET v = 5 WHERE id = 3;")
    batches.run()
    assert sorted(_again(batches.events)) == list(range(100))
    assert _newest(batches.events, f"p.{shop.database}.t") == shop.rows("t")
    positions = [event["position"] for event in batches.events if event["position"]]
    assert positions == sorted(set(positions))
    assert "cdckit_incremental" not in (batches.offset or {})


@pytest.mark.parametrize("together", [True, False])
def test_chunks_come_together(shop: Shop, monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    """Though the log is still while each is read, for some time and up to a batch's size; changes come with them."""
    monkeypatch.setattr("cdckit.engine.spark.in_order._LINGER_SECONDS", 600.0)
    batches = shop.batches(ends=False, incremental_snapshot_chunk_size=10)
    batches.run()
    batches.job = replace(batches.job, wait_seconds=60, max_bytes=batches.job.max_bytes if together else 1)
    shop.sql("CREATE TRIGGER slow BEFORE INSERT ON signals FOR EACH ROW DO SLEEP(0.06);")
    shop.ask_for("t")
    shop.sql("UPDATE t SET v = 5 WHERE id = 3;")
    for _ in range(3):
        if len(_again(batches.events)) < 100:
            batches.run(most=1)
    assert (len(_again(batches.events)) == 100) is together
    assert not together or _newest(batches.events, f"p.{shop.database}.t") == shop.rows("t")


def test_it_goes_on_where_it_dies(shop: Shop) -> None:
    """A batch that is repeated is the same: also where its chunk would be another one by then."""
    batches = shop.batches(ends=False)
    batches.run()
    # Each of the runs has a batch to find, however slow it is, and that one has one chunk.
    batches.job = replace(batches.job, wait_seconds=60, max_bytes=1)
    shop.ask_for("t", "u")
    runs = 0
    while len(_again(batches.events)) < 110 and runs < 60:
        runs += 1
        before = len(batches.events)
        batches.run(most=1, dies=True)
        died = batches.events[before:]
        shop.sql(f"UPDATE t SET v = v + 10 WHERE id IN ({runs % 50}, {99 - runs % 50});")
        del batches.events[before:]
        batches.run(most=1)
        assert batches.events[before:] == died
    batches.job = replace(batches.job, wait_seconds=5)
    batches.run()
    assert runs > 5
    assert _newest(batches.events, f"p.{shop.database}.t") == shop.rows("t")
    assert len(_again(batches.events)) == len({*_again(batches.events)}) + 1  # `u` has a row 1, too
    assert len(list((shop.folder / "state" / FOLDER).iterdir())) <= 2


def test_what_was_read_and_is_gone_is_read_anew_by_a_new_checkpoint(shop: Shop) -> None:
    batches = shop.batches()
    batches.run()
    shop.ask_for("t")
    batches.run(most=1, dies=True)
    before = len(batches.events)
    for path in (shop.folder / "state" / FOLDER).iterdir():
        path.unlink()
    with pytest.raises(SnapshotDueError, match="is gone"):
        batches.run()
    batches.planned = None
    batches.run()
    assert sorted(_again(batches.events[before:])) == list(range(100))


def test_a_blocking_snapshot_is_told_of_and_asked_for_once(shop: Shop) -> None:
    """Its signal is let go of once a batch that knows of it is committed."""
    told: dict[str, Any] = {"notification_enabled_channels": "sink", "notification_sink_topic_name": "told"}
    batches = shop.batches(signal_enabled_channels="in-process,source", **told)
    batches.run()
    state = shop.folder / "state"
    tables = [f"{shop.database}.t"]
    leave(state, Signal("b1", "execute-snapshot", {"type": "blocking", "data-collections": tables}))
    batches.run()
    assert not list((state / "signals").iterdir())
    read = [event for event in batches.events if event["topic"] == f"p.{shop.database}.t"]
    assert [event["value"]["after"]["id"] for event in read] == list(range(100))
    kinds = [event["value"]["type"] for event in batches.events if event["topic"] == "told"]
    assert kinds == ["SKIPPED", "STARTED", "IN_PROGRESS", "TABLE_SCAN_COMPLETED", "COMPLETED"]


def test_it_is_paused_resumed_and_stopped(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    told: dict[str, Any] = {"notification_enabled_channels": "sink", "notification_sink_topic_name": "told"}
    batches = shop.batches(**told)
    batches.run()
    shop.ask_for("t")
    shop.ask("p", "pause-snapshot")
    shop.ask("l", "log", message="a word")
    batches.run()
    assert "a word" in caplog.text
    assert len(_again(batches.events)) < 100
    assert (batches.offset or {})["cdckit_incremental"]["paused"]
    shop.ask("r", "resume-snapshot")
    shop.ask("x", "stop-snapshot")
    batches.run()
    assert len(_again(batches.events)) < 100
    assert "cdckit_incremental" not in (batches.offset or {})
    kinds = [event["value"]["type"] for event in batches.events if event["topic"] == "told"]
    assert [kind for kind in kinds if kind in ("STARTED", "PAUSED", "RESUMED", "ABORTED")] == [
        "STARTED", "PAUSED", "RESUMED", "ABORTED",
    ]  # fmt: skip


def test_the_direct_runner_goes_on_with_it(shop: Shop) -> None:
    batches = shop.batches()
    batches.run()
    shop.ask_for("t")
    batches = _continued(batches, shop.batches(ends=False))
    batches.job = replace(batches.job, max_bytes=1)
    while not _again(batches.events):
        batches.run(most=1)
    first = _again(batches.events)
    assert len(first) < 100
    state = SqliteStateStore(shop.folder / "state")
    assert batches.offset is not None
    state.save_offset(batches.offset)
    state.close()
    DirectRunner(replace(batches.job.pipeline, runner="direct")).run(once=True)
    out = (shop.folder / "out.jsonl").read_text().splitlines()
    assert sorted([*first, *_again([json.loads(line) for line in out])]) == list(range(100))


def _continued(before: InOrder, batches: InOrder) -> InOrder:
    batches.offset, batches.events = before.offset, before.events
    return batches


def test_heartbeats_come_while_several_workers_read(shop: Shop) -> None:
    """Without signals the log is planned as ever; a heartbeat is a batch of its own, also where nothing moves."""
    shop.sql("CREATE TABLE beats (id INT AUTO_INCREMENT PRIMARY KEY);")
    shop.server.run_sql(f"GRANT INSERT ON {shop.database}.beats TO reader")
    action = f"INSERT INTO {shop.database}.beats VALUES ()"
    batches = shop.batches(
        ends=False, signal_data_collection="", heartbeat_interval_ms=50, heartbeat_action_query=action
    )
    batches.job = replace(batches.job, besides=True)
    assert not batches.job.in_order
    batches.run(most=2)
    shop.sql("UPDATE t SET v = 7 WHERE id = 3;")
    batches.run(most=8)
    beats = [event for event in batches.events if event["topic"] == "__debezium-heartbeat.p"]
    assert len(beats) > 1
    assert all(event["value"]["ts_ms"] > 0 for event in beats)
    assert shop.server.execute(f"SELECT COUNT(*) FROM {shop.database}.beats")[0][0] >= len(beats)
    assert [event["value"]["after"]["v"] for event in batches.events if event["topic"].endswith(".t")] == [7]


def test_heartbeats_come_where_signals_are_taken(shop: Shop) -> None:
    batches = shop.batches(ends=False, heartbeat_interval_ms=50)
    batches.job = replace(batches.job, besides=True)
    batches.run(most=4)
    assert [event["topic"] for event in batches.events].count("__debezium-heartbeat.p") > 1
