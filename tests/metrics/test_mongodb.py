"""The metrics of a pipeline that reads MongoDB, scraped while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pymongo.database import Database

from metrics.scraping import Scrape, holds, scrape, served_at
from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet


def test_snapshot_and_stream(mongo: MongoReplicaSet, own_database: Database[dict[str, Any]], tmp_path: Path) -> None:
    name = own_database.name
    own_database.orders.insert_many([{"_id": number} for number in range(5)])
    own_database.create_collection("notes")
    source = {
        "type": "mongodb",
        "topic.prefix": "m",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": name,
        "custom.metric.tags": "database=sales",
    }
    found = to_file(tmp_path, source, **{"metrics.address": "127.0.0.1:0"})
    with found.running() as running:
        running.wait_until(lambda: served_at(found.state) is not None)
        url = served_at(found.state) or ""
        running.wait_until(holds(url, _streams), "the stream")
        _check_snapshot(scrape(url), name)
        own_database.orders.insert_many([{"_id": number} for number in range(10, 13)])
        own_database.orders.update_many({"_id": {"$gt": 10}}, {"$set": {"word": "changed"}})
        own_database.orders.replace_one({"_id": 10}, {"word": "replaced"})
        own_database.orders.delete_one({"_id": 0})
        running.wait_until(holds(url, lambda now: now.value("cdckit_events_total", operation="d") == 1), "the changes")
        running.wait_until(holds(url, lambda now: now.of("cdckit_lag_bytes") != []), "the stream's end")
        _check_stream(scrape(url))
        assert running.stop().code == 0


def _streams(now: Scrape) -> bool:
    return now.value("cdckit_streaming_connected") == 1 and now.value("cdckit_delivered_records_total") == 5


def _check_snapshot(now: Scrape, database: str) -> None:
    rows = {f"{database}.orders": 5, f"{database}.notes": 0}
    assert now.by("cdckit_snapshot_rows_scanned", "data_collection") == rows
    assert now.value("cdckit_snapshot_completed", database="sales", server="m") == 1
    assert now.value("cdckit_snapshot_tables_remaining") == 0
    captured = {own["data_collection"] for own, _ in now.of("cdckit_streaming_captured_table_info")}
    assert captured == set(rows)


def _check_stream(now: Scrape) -> None:
    assert now.by("cdckit_events_total", "operation") == {"r": 5, "c": 3, "u": 3, "d": 1, "t": 0}
    assert now.value("cdckit_delivered_records_total") == 5 + 3 + 3 + 2
    assert (now.value("cdckit_lag_bytes"), now.value("cdckit_lag_seconds")) == (0, 0)
    assert now.value("cdckit_streaming_disconnects_total") == 0
    ((position, _),) = now.of("cdckit_streaming_source_position_info")
    assert int(position["sec"]) > 0
