"""What batches of a snapshot tell of whole collections, also of those that go or come meanwhile."""

from __future__ import annotations

from collections import Counter

import pytest

from cdckit.api.marks import MarkKind
from cdckit_mongodb.snapshot import chunks
from mongodb.capture import change, read_elsewhere
from mongodb.snapshot_batches import (
    Own,
    at_server,
    capture_of,
    documents_after,
    fill,
    marks_of,
    numbers_read,
    records_of,
)
from testkit.servers.mongodb import MongoReplicaSet


def test_collections_that_go_or_come_between_batches(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name in "bcd":
        fill(own_database, name, range(60))
    reading = capture_of(mongo, own_database, snapshot_batch_rows=40)
    batches = reading.batches(marks=True)
    read = [next(batches), next(batches)]
    batches.close()  # type: ignore[attr-defined]
    assert marks_of(read[:1]) == [
        (MarkKind.SNAPSHOT_BEGIN, "b", None),
        (MarkKind.SNAPSHOT_BEGIN, "c", True),
        (MarkKind.SNAPSHOT_BEGIN, "d", True),
    ]
    for name in "bc":
        own_database[name].drop()
    fill(own_database, "a", range(5))
    fill(own_database, "c2", range(5))
    rest = list(reading.batches(marks=True))
    records = records_of([read[0], *rest])
    assert numbers_read(records, "b") == list(range(40))
    after = {name: n for name, n in documents_after(records).items() if name[0] != "b"}
    assert after == at_server(own_database, "a", "c2", "d"), "what b had goes with the mark of its drop"
    snapshot = [mark for mark in marks_of(rest) if mark[0] in (MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END)]
    assert Counter(snapshot) == {
        (MarkKind.SNAPSHOT_END, "b", None): 1,
        (MarkKind.SNAPSHOT_BEGIN, "c2", False): 1,
        (MarkKind.SNAPSHOT_END, "c2", None): 1,
        (MarkKind.SNAPSHOT_BEGIN, "d", False): 1,
        (MarkKind.SNAPSHOT_END, "d", None): 1,
    }


def test_a_collection_that_is_dropped_after_it_was_planned(mongo: MongoReplicaSet, own_database: Own) -> None:
    """The planner that has listed it looks for it no more; nor do tasks that were to read a part of it."""
    for name in "abc":
        fill(own_database, name, range(60))
    reading = capture_of(mongo, own_database, snapshot_batch_rows=40)
    with reading.source() as source:
        start = source.initial_offset()
        end = source.cut(start, source.latest_offset(start), 1)
        splits = source.plan(start, end, 2)
        own_database.a.drop()
        assert records_of([read_elsewhere(reading.config(), split) for split in splits]) == []
        own_database.b.drop()
        reading.offset = end
        records = []
        while source.owes_rows(start := reading.offset):
            end = source.cut(start, source.latest_offset(start), 1)
            for split in source.plan(start, end, 2):
                records += records_of([read_elsewhere(reading.config(), split)])
            reading.offset = end
    assert Counter(change(each)["source"]["collection"] for each in records) == {"c": 60}


def test_where_tables_are_kept_batches_have_whole_collections(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_WORTH_DIVIDING", 10)
    for name, documents in {"a": 100, "b": 3, "c": 50}.items():
        fill(own_database, name, range(documents))
    batches = list(capture_of(mongo, own_database, snapshot_batch_rows=0).batches(max_bytes=1000, marks=True))
    assert [len(records_of([batch])) for batch in batches] == [100, 53]
    begun = [name for kind, name, shared in marks_of(batches) if kind is MarkKind.SNAPSHOT_BEGIN and not shared]
    ended = [name for kind, name, _ in marks_of(batches) if kind is MarkKind.SNAPSHOT_END]
    assert begun == ended == ["a", "b", "c"]
