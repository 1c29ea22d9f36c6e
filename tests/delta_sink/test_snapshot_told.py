"""What `cdc status` and the hooks are told of a snapshot that comes into tables as one batch."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cdckit.cli.main import call
from delta_sink.shop import Shop
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

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
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
    }
    pipeline = Pipeline(tmp_path, source, {"type": "delta", "mode": "mirror", "path": str(tmp_path / "lake")})
    assert pipeline.run("--once").code == 0
    assert _told(pipeline) == ("completed", {f"{unique_name}.a": (30, True)})


def _told(pipeline: Pipeline) -> tuple[str, dict[str, tuple[int, bool]]]:
    """The last run's snapshot, as its status tells it."""
    told: dict[str, Any] | None = json.loads((pipeline.state / "status.json").read_text())["snapshot"]
    if told is None:
        return "none", {}
    return told["state"], {name: (table["rows"], table["finished"]) for name, table in told["tables"].items()}
