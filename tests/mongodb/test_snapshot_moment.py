"""The moment that a snapshot in batches counts from, in an oplog that forgets; and what servers tell of documents."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.errors import SnapshotDueError
from cdckit_mongodb.server.oplog import clock_text
from cdckit_mongodb.snapshot.collections import ChosenCollection
from cdckit_mongodb.snapshot.document_sizes import DocumentSizes
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture
from mongodb.small_oplog import failing, fill_the_oplog, forgetful
from mongodb.snapshot_batches import (
    fill,
    numbers_read,
    records_of,
)
from testkit.servers.mongodb import MongoReplicaSet


def test_the_size_of_documents_is_told_or_measured(forgetting: MongoReplicaSet) -> None:
    with forgetting.client() as client:
        client.sizes.a.insert_many({"_id": n, "text": "x" * 10_000} for n in range(20))
        one = ChosenCollection("sizes", "a", 20)
        told = DocumentSizes().of(client, one)
        with failing(client, "collStats", 13):
            measured = DocumentSizes().of(client, one)
        client.sizes.create_collection("b")
        unknown = DocumentSizes().of(client, ChosenCollection("sizes", "b", 0))
    assert told == measured == 10_025
    assert unknown == 500


@pytest.fixture(scope="module")
def forgetting() -> Any:
    """A set that forgets quickly."""
    with forgetful() as replica_set:
        yield replica_set


def test_a_moment_that_is_gone_begins_the_snapshot_anew(
    forgetting: MongoReplicaSet, unique_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with forgetting.client() as client:
        fill(client[unique_name], "a", range(100))
        reading = Capture(forgetting.uri, database_include_list=unique_name, snapshot_batch_rows=40)
        batches = reading.batches()
        next(batches), next(batches)
        assert reading.offset is not None
        fill_the_oplog(client, reading.offset)
        client[unique_name].a.delete_one({"_id": 0})
        with pytest.raises(SnapshotDueError, match=r"gone from the oplog.*the snapshot begins anew"):
            next(batches)
        records = records_of(reading.batches())
    assert "a new snapshot is taken" in caplog.text
    assert numbers_read(records) == list(range(1, 100))


def test_it_is_told_when_the_oplog_drops_the_moment(forgetting: MongoReplicaSet, unique_name: str) -> None:
    """A snapshot takes as long as it takes, and the stream goes on from where it began."""
    with forgetting.client() as client:
        fill(client[unique_name], "a", range(100))
    reading = Capture(forgetting.uri, database_include_list=unique_name, snapshot_batch_rows=40)
    batches = reading.batches()
    next(batches), next(batches)
    batches.close()  # type: ignore[attr-defined]
    offset = reading.offset or {}
    with reading.source() as source:
        assert source.retention(source.initial_offset()) is None
        source.latest_offset(offset)
        told, checked = source.retention(offset), MongoDbSource.check_retention(reading.config(), offset)
    assert told is not None
    assert checked is not None
    assert told.oldest_needed == checked.oldest_needed == f"the oplog at {clock_text(offset['sec'])}"
