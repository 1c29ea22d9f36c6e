"""The metrics of MongoDB's stream that need more than plain changes: transactions, signals, lost connections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from pymongo.database import Database

from cdckit.cli.main import cdc
from cdckit.cli.settings import Settings
from cdckit.engine.metrics.details_file import read_details
from cdckit.engine.metrics.status_file import read_status
from metrics.scraping import Scrape, holds, scrape, served_at
from testkit.running import Pipeline, Running, to_file
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
ADDRESS = {"metrics.address": "127.0.0.1:0"}


def _source(uri: str, database: str, **options: Any) -> dict[str, Any]:
    own = {"type": "mongodb", "topic.prefix": "m", "mongodb.connection.string": uri, "database.include.list": database}
    return {**own, **{name.replace("_", "."): value for name, value in options.items()}}


def _url(running: Running) -> str:
    running.wait_until(lambda: served_at(running.pipeline.state) is not None, "the metrics' address")
    return served_at(running.pipeline.state) or ""


def _status(pipeline: Pipeline) -> dict[str, Any]:
    called = CliRunner().invoke(cdc, ["status", str(pipeline.written()), "--json"], obj=Settings())
    found: dict[str, Any] = json.loads(called.stdout)
    return found


def _beside_the_stream(pipeline: Pipeline) -> Any:
    return ((read_status(pipeline.state) or {}).get("snapshot") or {}).get("incremental")


def _inserted(pipeline: Pipeline, collection: str) -> Any:
    return read_details(pipeline.state).get("tables", {}).get(collection, {}).get("c")


def test_transactions_and_snapshots_beside_the_stream(
    mongo: MongoReplicaSet, own_database: Own, tmp_path: Path
) -> None:
    name = own_database.name
    own_database.orders.insert_many([{"_id": number} for number in range(5)])
    own_database.create_collection("signals")
    source = _source(
        mongo.uri,
        name,
        collection_include_list=rf"{name}\.(?<name>orders)",  # which the server cannot evaluate
        provide_transaction_metadata=True,
        signal_data_collection=f"{name}.signals",
        incremental_snapshot_chunk_size=2,
        snapshot_mode="no_data",
    )
    found = to_file(tmp_path, source, **ADDRESS)
    with found.running() as running:
        url = _url(running)
        running.wait_until(holds(url, lambda now: now.value("cdckit_streaming_connected") == 1), "the stream")
        _write_transactions(own_database)
        running.wait_until(holds(url, lambda now: now.by("cdckit_events_total", "operation")["c"] == 5), "the changes")
        _check_transactions(scrape(url))
        data = {"data-collections": [rf"{name}\.orders"]}
        own_database.signals.insert_many([{"type": "execute-snapshot", "data": data}, {"type": "pause-snapshot"}])
        running.wait_until(holds(url, lambda now: _snapshot(now, "paused") == 1), "the pause")
        running.wait_until(lambda: _beside_the_stream(found) is True, "the pause in its status")
        own_database.signals.insert_one({"type": "resume-snapshot"})
        running.wait_until(holds(url, lambda now: _snapshot(now, "completed") == 1), "the snapshot's end")
        _check_snapshot(scrape(url), name)
        own_database.signals.insert_one({"type": "execute-snapshot", "data": {**data, "type": "blocking"}})
        running.wait_until(holds(url, lambda now: now.value("cdckit_events_total", operation="r") == 20), "the rows")
        running.wait_until(holds(url, lambda now: _snapshot(now, "completed") == 1), "its end")
        assert scrape(url).of("cdckit_snapshot_chunk_info") == []
        running.wait_until(lambda: (_status(found)["snapshot"] or {}).get("state") == "completed", "its status")
        assert _beside_the_stream(found) is False
        running.wait_until(lambda: _inserted(found, f"{name}.orders") == 5, "the collection's changes in its details")
        assert (_status(found)["state"], _status(found)["offset"]["sec"] > 0) == ("running", True)
        assert running.stop().code == 0


def _snapshot(now: Scrape, state: str) -> float | None:
    return next((value for _, value in now.of(f"cdckit_snapshot_{state}")), None)


def _write_transactions(database: Own) -> None:
    """Two of two documents each, one in a collection that is not captured, one alone."""
    for first in (10, 20):
        with database.client.start_session() as session, session.start_transaction():
            database.orders.insert_many([{"_id": first}, {"_id": first + 1}], session=session)
    database.others.insert_one({"_id": 1})
    database.orders.insert_one({"_id": 30})


def _check_transactions(now: Scrape) -> None:
    assert now.by("cdckit_events_total", "operation") == {"r": 0, "c": 5, "u": 0, "d": 0, "t": 0}
    assert now.value("cdckit_streaming_transactions_committed_total") == 2
    assert now.value("cdckit_streaming_events_filtered_total") == 1
    assert now.value("cdckit_delivered_records_total") == 5 + 2 * 2, "with the transactions' begins and ends"
    ((transaction, _),) = now.of("cdckit_streaming_last_transaction_info")
    assert '"id"' in str(transaction)
    ((event, _),) = now.of("cdckit_streaming_last_event_info")
    assert "-0-" in str(event)
    assert now.value("cdckit_streaming_last_event_time_seconds") > 1.7e9


def _check_snapshot(now: Scrape, database: str) -> None:
    assert now.by("cdckit_snapshot_rows_scanned", "data_collection") == {f"{database}.orders": 10}
    assert [now.value(f"cdckit_snapshot_{name}") for name in ("tables", "tables_remaining", "events")] == [1, 0, 10]
    assert [now.value(f"cdckit_snapshot_{name}") for name in ("running", "paused", "aborted")] == [0, 0, 0]
    assert now.value("cdckit_snapshot_paused_duration_seconds") > 0
    ((chunk, _),) = now.of("cdckit_snapshot_chunk_info")
    assert (chunk["chunk_from"], chunk["chunk_to"], chunk["table_to"]) == ("20", "30", "30")


def test_a_connection_that_is_lost(unique_name: str, tmp_path: Path) -> None:
    with MongoReplicaSet() as replica_set, replica_set.client() as client:
        client[unique_name].orders.insert_one({"_id": 1})
        options = {"mongodb_server_selection_timeout_ms": 300, "connect_backoff_max_delay_ms": 100}
        found = to_file(tmp_path, _source(replica_set.uri, unique_name, **options), **ADDRESS)
        with found.running() as running:
            url = _url(running)
            running.wait_until(holds(url, lambda now: now.value("cdckit_streaming_connected") == 1), "the stream")
            (node,) = replica_set.nodes
            node.kill()
            running.wait_until(holds(url, lambda now: now.value("cdckit_streaming_connected") == 0), "the loss")
            assert scrape(url).value("cdckit_streaming_disconnects_total") >= 1
            assert scrape(url).value("cdckit_errors_total", error="RetriableSourceError") >= 1
            assert _status(found)["state"] == "running"
            node.start()
            running.wait_until(holds(url, lambda now: now.value("cdckit_streaming_connected") == 1), "the return")
            client[unique_name].orders.insert_one({"_id": 2})
            running.wait_until(holds(url, lambda now: now.value("cdckit_delivered_records_total") == 2), "the change")
            running.wait_until(
                holds(url, lambda now: now.value("cdckit_streaming_primary_elections_total") >= 1), "the election"
            )
            assert running.stop().code == 0
