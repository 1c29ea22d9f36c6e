"""Snapshots that are read in several batches, as the Spark runner reads them."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from contextlib import closing
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.connector import snapshot_parts
from cdckit.connector.resnapshot import ask
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit_mongodb.snapshot import chunks
from mongodb.capture import change, read_elsewhere, shown
from mongodb.snapshot_batches import (
    KINDS,
    Own,
    assert_unlike_positions,
    at_server,
    capture_of,
    documents_after,
    fill,
    numbers_read,
    records_of,
)
from testkit.servers.mongodb import MongoReplicaSet


@pytest.mark.parametrize("rows", [3, 24])
def test_identifiers_of_every_kind_are_cut(mongo: MongoReplicaSet, own_database: Own, rows: int) -> None:
    fill(own_database, "a", KINDS)
    batches = list(capture_of(mongo, own_database, snapshot_batch_rows=rows).batches())
    sizes = [len(records_of([batch])) for batch in batches]
    # a chunk ends before MaxKey no more than behind it: of what the index holds there the server tells nothing
    assert max(sizes) <= rows + 1
    assert sum(sizes) == len(KINDS)
    records = records_of(batches)
    assert numbers_read(records) == list(range(len(KINDS)))
    assert_unlike_positions(records)


KEPT: dict[str, dict[str, Any]] = {
    "clustered": {"clusteredIndex": {"key": {"_id": 1}, "unique": True}},
    "of numbers in texts": {"collation": {"locale": "en", "numericOrdering": True}},
    "of letters of either case": {"collation": {"locale": "de", "strength": 2}},
    "capped": {"capped": True, "size": 1_000_000},
}
"""Collections whose index of `_id` is of another kind, or has an order of its own."""


@pytest.mark.parametrize("kind", KEPT)
def test_the_order_is_that_of_the_index(mongo: MongoReplicaSet, own_database: Own, kind: str) -> None:
    own_database.create_collection("a", **KEPT[kind])
    fill(own_database, "a", [f"{'aBcÄdé'[n % 6]}{n}" for n in range(120)])
    batches = list(capture_of(mongo, own_database, snapshot_batch_rows=40).batches())
    assert [len(records_of([batch])) for batch in batches] == [40, 40, 40]
    assert sorted(numbers_read(records_of(batches))) == list(range(120))


def test_chunks_are_even_whatever_the_identifiers_look_like(mongo: MongoReplicaSet, own_database: Own) -> None:
    fill(own_database, "a", [*range(150), *(f"s{number}" for number in range(100)), *(10**9 + n for n in range(50))])
    batches = list(capture_of(mongo, own_database).batches())
    assert [len(records_of([batch])) for batch in batches] == [80, 80, 80, 60]
    assert [len(part.records) for part in batches[0]] == [10] * 8, "eight chunks at a time"
    assert len(set(numbers_read(records_of(batches)))) == 300


def test_collections_come_one_after_the_other(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name, documents in {"a": 50, "b": 7, "d": 100}.items():
        fill(own_database, name, range(documents))
    own_database.create_collection("c")
    own_database.create_collection("e", timeseries={"timeField": "at"})
    begin = datetime.datetime(2020, 1, 1)
    own_database.e.insert_many({"_id": n, "n": n, "at": begin + datetime.timedelta(seconds=n)} for n in range(70))
    batches = list(capture_of(mongo, own_database, snapshot_batch_rows=20).batches())
    sizes = [Counter(change(record)["source"]["collection"] for record in records_of([batch])) for batch in batches]
    assert sizes[0] == {"a": 21}, "seven chunks of three documents"
    assert all(sum(size.values()) <= 27 for size in sizes[:-1])
    assert sum(sizes, Counter()) == {"a": 50, "b": 7, "d": 100, "e": 70}
    assert sizes[-1]["e"] == 70, "a time series has no index of _id to be cut by"
    records = records_of(batches)
    assert_unlike_positions(records)
    in_order = [change(each)["source"]["collection"] for each in sorted(records, key=lambda each: each.position)]
    assert in_order == sorted(in_order)


def test_batches_are_of_so_many_bytes(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_many({"_id": n, "n": n, "text": "x" * 500_000} for n in range(100))
    batches = list(capture_of(mongo, own_database, snapshot_batch_rows=0).batches(max_bytes=20_000_000))
    assert [len(records_of([batch])) for batch in batches] == [66, 34], "33 documents are 16 MB"


def test_what_is_written_meanwhile_comes_behind_the_snapshot(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name in "ab":
        fill(own_database, name, range(150))
    records: list[Record] = []
    for number, batch in enumerate(capture_of(mongo, own_database, snapshot_batch_rows=60).batches()):
        records += records_of([batch])
        if number < 4:
            for name in "ab":
                own_database[name].update_many({"n": {"$mod": [7, number]}}, {"$inc": {"n": 1000}})
                own_database[name].delete_one({"_id": number * 30 + 5})
                own_database[name].insert_many([{"_id": 1000 + number, "n": 1}, {"_id": -number - 1, "n": 2}])
    assert documents_after(records) == at_server(own_database, "a", "b")


def test_a_kill_repeats_the_open_batch_alone(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Another process, which knows no more than the offsets, plans the same range, whatever came meanwhile."""
    fill(own_database, "a", range(0, 3000, 10))
    fill(own_database, "b", range(30))
    reading = capture_of(mongo, own_database)
    before = next(batches := reading.batches())
    next(batches)  # kept is the first
    batches.close()  # type: ignore[attr-defined]
    start = reading.offset or {}
    with reading.source() as source:
        end = json.loads(json.dumps(source.cut(start, source.latest_offset(start), 1)))
        assert len(json.dumps(end)) < 700
    own_database.a.insert_many({"_id": n + 1, "n": -1} for n in range(0, 3000, 10))
    own_database.a.insert_many({"_id": n + 2, "n": -2} for n in range(0, 3000, 10))
    with reading.source() as source:
        planned = source.plan(start, end, 3)
        assert len(planned) == 3
        open_batch = records_of([read_elsewhere(reading.config(), split) for split in planned])
    reading.offset = end
    rest = records_of(reading.batches())
    old = [[n for n in numbers_read(records) if n >= 0] for records in (records_of([before]), open_batch, rest)]
    assert old == [list(range(80)), list(range(80, 160)), list(range(160, 300))]
    assert Counter(numbers_read(open_batch))[-1] == 80, "what lies in the range now"
    assert numbers_read(rest, "b") == list(range(30))
    reads = [each for each in [*records_of([before]), *open_batch, *rest] if change(each)["op"] == "r"]
    assert_unlike_positions(reads)
    assert [n for n in numbers_read(reads) if n >= 0] == list(range(300))


def test_what_is_one_batch_is_shared_out_among_its_readers(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_WORTH_DIVIDING", 10)
    fill(own_database, "a", range(240))
    reading = capture_of(mongo, own_database, snapshot_batch_rows=0)
    [batch] = reading.batches(parallelism=3)
    assert numbers_read(records_of([batch])) == list(range(240))
    parts = [fact for fact in reading.heard.of("snapshot_part") if not fact["finished"]]
    assert len(parts) == 12, "four for each"


def test_a_batch_has_no_more_than_so_many_collections(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_parts, "MOST_TABLES", 2)
    for name in "abcde":
        fill(own_database, name, range(3))
    batches = list(capture_of(mongo, own_database).batches())
    assert [len(records_of([batch])) for batch in batches] == [6, 6, 3]


def test_collections_are_read_again_in_batches(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name in "ab":
        fill(own_database, name, range(100))
    reading = capture_of(mongo, own_database)
    list(reading.batches())
    own_database.a.delete_one({"_id": 7})
    with closing(SqliteStateStore(reading.folder)) as state:
        ask(state, reading.offset or {}, [f"{own_database.name}.a"])
    batches = reading.batches()
    assert [shown(each)[0] for each in records_of([next(batches)])] == ["d", None], "the stream comes first"
    first = records_of([next(batches)])
    assert len(first) == 80
    own_database.b.insert_one({"_id": 1000, "n": 1000})
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert (reading.offset or {})["cdckit_resnapshot"]["done"] is False
    with reading.source() as source:
        assert source.owes_rows(reading.offset or {})
    rest = records_of(reading.batches())
    assert numbers_read([*first, *rest]) == [n for n in range(100) if n != 7]
    assert [shown(each)[:2] for each in rest if change(each)["source"]["collection"] == "b"] == [("c", "1000")]
    with reading.source() as source:
        assert not source.owes_rows(reading.offset or {})


def test_what_is_told_of_how_far_it_is(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Parts that are planned, one for what was read before a restart, and how many there are with the last one."""
    fill(own_database, "a", range(100))
    fill(own_database, "b", range(10))
    reading = capture_of(mongo, own_database, snapshot_batch_rows=40)
    batches = reading.batches()
    next(batches), next(batches)
    batches.close()  # type: ignore[attr-defined]
    parts = [(fact["part"], fact["rows"]) for fact in reading.heard.of("snapshot_part")]
    assert parts == [(part, 0) for part in range(16)]
    reading.heard.told.clear()
    list(reading.batches())
    [started] = reading.heard.of("snapshot_started")
    assert list(started["data_collections"]) == [f"{own_database.name}.{name}" for name in "ab"]
    told = [fact for fact in reading.heard.of("snapshot_part") if fact["data_collection"].endswith(".a")]
    assert (told[0]["part"], told[0]["rows"], told[0]["finished"]) == (0, 40, True)
    assert [fact["part"] for fact in told] == list(range(len(told)))
    assert told[-1]["parts"] == len(told), "all of them are known with the last one"
