"""What OpenLineage is told of a pipeline that reads MongoDB: collections, which have no columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pymongo.database import Database

from lineage.run_event import check
from lineage.test_events import INTEGRATION, datasets
from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet


def test_collections(mongo: MongoReplicaSet, own_database: Database[dict[str, Any]], tmp_path: Path) -> None:
    own_database.orders.insert_one({"_id": 1})
    own_database.create_collection("notes")
    told = tmp_path / "events.jsonl"
    (tmp_path / "lineage.yml").write_text(json.dumps({"transport": {"type": "file", "location": str(told)}}))
    source = {
        "type": "mongodb",
        "topic.prefix": "m",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": own_database.name,
        INTEGRATION + "enabled": True,
        INTEGRATION + "config.file.path": "lineage.yml",
    }
    assert to_file(tmp_path, source).run("--once").code == 0
    events = [json.loads(line) for line in told.read_text().splitlines()]
    for event in events:
        check(event)
    hosts = mongo.uri.partition("://")[2].rpartition("@")[2].partition("/")[0]
    tables: dict[tuple[str, str], list[Any]] = {
        (f"mongodb://{hosts}", f"{own_database.name}.{name}"): [] for name in ("orders", "notes")
    }
    assert datasets(events, "inputs") == tables
    ((_, fields),) = datasets(events, "outputs").items()
    assert ("after", "STRING") in [(one["name"], one["type"]) for one in fields]
    assert "mongodb.connection.string=********" in events[0]["run"]["facets"]["debezium_config"]["configs"]
