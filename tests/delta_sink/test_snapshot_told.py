"""What `cdc status` and the hooks are told of a snapshot that comes into tables as one batch."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cdckit.cli.main import call
from delta_sink.documents import source_of
from delta_sink.shop import Shop
from testkit.running import Ended, Pipeline, create_reader
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES

TABLES = """
CREATE TABLE a (id INT PRIMARY KEY, v INT); INSERT INTO a VALUES (1, 1), (2, 2), (3, 3);
CREATE TABLE none (id INT PRIMARY KEY);
"""


def test_tables_are_told_as_they_are_read(shop: Shop) -> None:
    shop.run(TABLES)
    ended = shop.deliver()
    assert f"snapshot of {shop.name}.a is done: 3 rows" in ended.stderr
    pipeline = shop.pipeline()
    assert _told(pipeline) == ("completed", {f"{shop.name}.a": (3, True), f"{shop.name}.none": (0, True)})
    shop.run("INSERT INTO a VALUES (4, 4)")
    shop.deliver()
    assert _told(pipeline) == ("none", {}), "no snapshot was taken"
    assert call(["resnapshot", str(pipeline.written()), "--table", f"{shop.name}.a"]) == 0
    shop.deliver()
    assert _told(pipeline) == ("completed", {f"{shop.name}.a": (4, True)})


def test_collections_are_told_as_they_are_read(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        client[unique_name]["a"].insert_many([{"_id": number} for number in range(30)])
    source = source_of(mongo, unique_name)
    pipeline = Pipeline(tmp_path, source, {"type": "delta", "mode": "mirror", "path": str(tmp_path / "lake")})
    assert pipeline.run("--once").code == 0
    assert _told(pipeline) == ("completed", {f"{unique_name}.a": (30, True)})


def test_notifications_come_to_the_log(shop: Shop) -> None:
    """Of a blocking snapshot, which the source reads as a whole, they come once, too."""
    create_reader(shop.server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
    shop.run(TABLES + "CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048));")
    a, none, signals = (f"{shop.name}.{table}" for table in ("a", "none", "signals"))
    pipeline = shop.pipeline(
        {"tables.parallel": 1}, notification_enabled_channels="log", signal_data_collection=signals
    )
    scan = ["IN_PROGRESS", "TABLE_SCAN_COMPLETED"]
    told = _notified(pipeline.run("--once"))
    assert [kind for kind, _ in told] == ["STARTED", *scan, *scan, "COMPLETED"]
    rows = {data["scanned_collection"]: data["total_rows_scanned"] for kind, data in told if kind == scan[1]}
    assert rows == {a: "3", none: "0"}
    assert all(data["data_collections"] == f"{a},{none}" for kind, data in told if kind in scan)
    data = json.dumps({"type": "blocking", "data-collections": [a]})
    shop.server.execute(f"INSERT INTO {signals} VALUES ('1', 'execute-snapshot', %s)", (data,))
    assert [kind for kind, _ in _notified(pipeline.run("--once"))] == ["SKIPPED", "STARTED", *scan, "COMPLETED"]


def _notified(ended: Ended) -> list[tuple[str, dict[str, str]]]:
    assert ended.code == 0, ended.stderr
    return [(kind, json.loads(data)) for kind, data in re.findall(r"Initial Snapshot (\w+): (.*)$", ended.stderr, re.M)]


def _told(pipeline: Pipeline) -> tuple[str, dict[str, tuple[int, bool]]]:
    """The last run's snapshot, as its status tells it."""
    told: dict[str, Any] | None = json.loads((pipeline.state / "status.json").read_text())["snapshot"]
    if told is None:
        return "none", {}
    return told["state"], {name: (table["rows"], table["finished"]) for name, table in told["tables"].items()}
