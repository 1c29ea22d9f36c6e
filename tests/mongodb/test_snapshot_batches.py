"""Snapshots that are read in several batches, as the Spark runner reads them."""

from __future__ import annotations

import datetime
import json
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

import pytest
from bson import Binary, Decimal128, Int64, MaxKey, MinKey, ObjectId, Timestamp
from pymongo.database import Database

from cdckit.api.marks import MarkKind
from cdckit.api.record import Batch, Record
from cdckit.connector.resnapshot import ask
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import SnapshotDueError
from cdckit_mongodb.offsets import SNAPSHOT_NUMBERS, SnapshotPlace
from cdckit_mongodb.server.oplog import clock_text
from cdckit_mongodb.snapshot import chunk_batches, chunks, whole
from cdckit_mongodb.snapshot.chunk_walk import numbered, place_behind
from cdckit_mongodb.snapshot.collections import ChosenCollection, identifier_text
from cdckit_mongodb.snapshot.document_sizes import DocumentSizes
from cdckit_mongodb.snapshot.parallel import Part, Reached
from cdckit_mongodb.source import MongoDbSource
from cdckit_mongodb.splits import Chunk
from mongodb.capture import Capture, change, read_elsewhere, shown
from mongodb.small_oplog import failing, fill_the_oplog, forgetful
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

KINDS: list[Any] = [
    MinKey(),
    None,
    *(-5, 0.5, Decimal128("7.25"), Int64(2**60), float("inf")),
    *("", "B", "a", "é", "😀"),
    {},
    {"x": 1},
    {"x": 1, "y": {"z": "w"}},
    Binary(b"\x00\x01"),
    Binary.from_uuid(uuid.UUID(int=7)),
    *(ObjectId("0" * 24), ObjectId("f" * 24)),
    *(False, True),
    *(datetime.datetime(1969, 12, 31), datetime.datetime(2026, 1, 1)),
    Timestamp(5, 6),
    MaxKey(),
]
"""An `_id` of every type that the server takes, in its order."""


def _capture(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    return Capture(mongo.uri, **{"database_include_list": database.name, "snapshot_batch_rows": 80, **options})


def _fill(database: Own, name: str, identifiers: Iterable[Any]) -> None:
    database[name].insert_many({"_id": identifier, "n": n} for n, identifier in enumerate(identifiers))


def _records(batches: Iterable[Sequence[Batch]]) -> list[Record]:
    return [record for batch in batches for part in batch for record in part.records]


def _read(records: Iterable[Record], name: str = "a") -> list[int]:
    """The documents' numbers, in the order of the positions."""
    found = sorted((record for record in records if change(record)["op"] == "r"), key=lambda each: each.position)
    return [shown(each)[2]["n"] for each in found if change(each)["source"]["collection"] == name]


def _assert_unlike_positions(records: Sequence[Record]) -> None:
    positions = [record.position for record in records]
    assert len(set(positions)) == len(positions)
    assert len({len(position) for position in positions}) == 1


def _after(records: Iterable[Record]) -> dict[tuple[str, str], Any]:
    """The documents that a consumer has after these events."""
    found: dict[tuple[str, str], Any] = {}
    for record in records:
        operation, key, document = shown(record)
        name = record.topic.rpartition(".")[2], key
        if operation in ("d", None):
            found.pop(name, None)
        elif document is not None:  # else it was gone when it was looked up
            found[name] = document["n"]
    return found


def _at_server(database: Own, *names: str) -> dict[tuple[str, str], Any]:
    return {(name, str(each["_id"])): each["n"] for name in names for each in database[name].find()}


@pytest.mark.parametrize("rows", [3, 24])
def test_identifiers_of_every_kind_are_cut(mongo: MongoReplicaSet, own_database: Own, rows: int) -> None:
    _fill(own_database, "a", KINDS)
    batches = list(_capture(mongo, own_database, snapshot_batch_rows=rows).batches())
    sizes = [len(_records([batch])) for batch in batches]
    # a chunk ends before MaxKey no more than behind it: of what the index holds there the server tells nothing
    assert max(sizes) <= rows + 1
    assert sum(sizes) == len(KINDS)
    records = _records(batches)
    assert _read(records) == list(range(len(KINDS)))
    _assert_unlike_positions(records)


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
    _fill(own_database, "a", [f"{'aBcÄdé'[n % 6]}{n}" for n in range(120)])
    batches = list(_capture(mongo, own_database, snapshot_batch_rows=40).batches())
    assert [len(_records([batch])) for batch in batches] == [40, 40, 40]
    assert sorted(_read(_records(batches))) == list(range(120))


def test_chunks_are_even_whatever_the_identifiers_look_like(mongo: MongoReplicaSet, own_database: Own) -> None:
    _fill(own_database, "a", [*range(150), *(f"s{number}" for number in range(100)), *(10**9 + n for n in range(50))])
    batches = list(_capture(mongo, own_database).batches())
    assert [len(_records([batch])) for batch in batches] == [80, 80, 80, 60]
    assert [len(part.records) for part in batches[0]] == [10] * 8, "eight chunks at a time"
    assert len(set(_read(_records(batches)))) == 300


def test_collections_come_one_after_the_other(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name, documents in {"a": 50, "b": 7, "d": 100}.items():
        _fill(own_database, name, range(documents))
    own_database.create_collection("c")
    own_database.create_collection("e", timeseries={"timeField": "at"})
    begin = datetime.datetime(2020, 1, 1)
    own_database.e.insert_many({"_id": n, "n": n, "at": begin + datetime.timedelta(seconds=n)} for n in range(70))
    batches = list(_capture(mongo, own_database, snapshot_batch_rows=20).batches())
    sizes = [Counter(change(record)["source"]["collection"] for record in _records([batch])) for batch in batches]
    assert sizes[0] == {"a": 21}, "seven chunks of three documents"
    assert all(sum(size.values()) <= 27 for size in sizes[:-1])
    assert sum(sizes, Counter()) == {"a": 50, "b": 7, "d": 100, "e": 70}
    assert sizes[-1]["e"] == 70, "a time series has no index of _id to be cut by"
    records = _records(batches)
    _assert_unlike_positions(records)
    in_order = [change(each)["source"]["collection"] for each in sorted(records, key=lambda each: each.position)]
    assert in_order == sorted(in_order)


def test_batches_are_of_so_many_bytes(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_many({"_id": n, "n": n, "text": "x" * 500_000} for n in range(100))
    batches = list(_capture(mongo, own_database, snapshot_batch_rows=0).batches(max_bytes=20_000_000))
    assert [len(_records([batch])) for batch in batches] == [66, 34], "33 documents are 16 MB"


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


def test_what_is_written_meanwhile_comes_behind_the_snapshot(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name in "ab":
        _fill(own_database, name, range(150))
    records: list[Record] = []
    for number, batch in enumerate(_capture(mongo, own_database, snapshot_batch_rows=60).batches()):
        records += _records([batch])
        if number < 4:
            for name in "ab":
                own_database[name].update_many({"n": {"$mod": [7, number]}}, {"$inc": {"n": 1000}})
                own_database[name].delete_one({"_id": number * 30 + 5})
                own_database[name].insert_many([{"_id": 1000 + number, "n": 1}, {"_id": -number - 1, "n": 2}])
    assert _after(records) == _at_server(own_database, "a", "b")


def test_a_kill_repeats_the_open_batch_alone(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Another process, which knows no more than the offsets, plans the same range, whatever came meanwhile."""
    _fill(own_database, "a", range(0, 3000, 10))
    _fill(own_database, "b", range(30))
    reading = _capture(mongo, own_database)
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
        open_batch = _records([read_elsewhere(reading.config(), split) for split in planned])
    reading.offset = end
    rest = _records(reading.batches())
    old = [[n for n in _read(records) if n >= 0] for records in (_records([before]), open_batch, rest)]
    assert old == [list(range(80)), list(range(80, 160)), list(range(160, 300))]
    assert Counter(_read(open_batch))[-1] == 80, "what lies in the range now"
    assert _read(rest, "b") == list(range(30))
    reads = [each for each in [*_records([before]), *open_batch, *rest] if change(each)["op"] == "r"]
    _assert_unlike_positions(reads)
    assert [n for n in _read(reads) if n >= 0] == list(range(300))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spark_first", [True, False])
def test_either_runner_goes_on_where_the_other_stopped(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch, threads: int, spark_first: bool
) -> None:
    """In turn, in the middle of collections, until all is read: no document is lost, and none is read twice."""
    monkeypatch.setattr(whole, "IN_ORDER_FROM", 20)
    monkeypatch.setattr(chunks, "_WORTH_DIVIDING", 10)
    _fill(own_database, "a", [*range(100), *KINDS[7:]])
    _fill(own_database, "b", range(100))
    options = {"snapshot_batch_rows": 40, "snapshot_max_threads": threads, "snapshot_fetch_size": 7}
    reading, on_spark = _capture(mongo, own_database, **options), spark_first
    records: list[Record] = []
    rounds = 0
    while reading.offset is None or reading.offset.get("initsync"):
        rounds += 1
        if on_spark:
            batches = reading.batches()
            records += _records([next(batches)])
            next(batches, None)  # it is kept
            batches.close()  # type: ignore[attr-defined]
        else:
            records += _until_in_order(reading)
        on_spark = not on_spark
    assert rounds > 4
    once = Counter((each.topic, shown(each)[1]) for each in records)
    assert len(once) == 200 + len(KINDS[7:])
    # connections that read at the same time are stopped with documents in hand
    assert threads > 1 or set(once.values()) == {1}
    _assert_unlike_positions(records)


def _until_in_order(reading: Capture) -> list[Record]:
    """What the direct runner reads until it stands somewhere else within the snapshot, or at its end."""
    before, first = reading.offset, len(reading.records)

    def moved() -> bool:
        return reading.offset != before and len(reading.records) > first

    return reading.once(until=moved)


def test_the_direct_runner_reads_the_document_that_a_place_stands_at(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Also where nothing was read of what comes first, as with several connections."""
    _fill(own_database, "a", range(100))
    for threads in (1, 3):
        reading = _capture(mongo, own_database, snapshot_max_threads=threads)
        batches = reading.batches()
        read = _records([next(batches)])
        next(batches)
        batches.close()  # type: ignore[attr-defined]
        collection, after, _, included, told = (reading.offset or {})["cdckit_snapshot"]
        assert (collection, included, told) == (f"{own_database.name}.a", True, 80)
        assert after
        assert _read([*read, *reading.once()]) == list(range(100))
        assert "cdckit_after_snapshot" not in (reading.offset or {})


def test_collections_that_go_or_come_between_batches(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name in "bcd":
        _fill(own_database, name, range(60))
    reading = _capture(mongo, own_database, snapshot_batch_rows=40)
    batches = reading.batches(marks=True)
    read = [next(batches), next(batches)]
    batches.close()  # type: ignore[attr-defined]
    assert _marks(read[:1]) == [
        (MarkKind.SNAPSHOT_BEGIN, "b", None),
        (MarkKind.SNAPSHOT_BEGIN, "c", True),
        (MarkKind.SNAPSHOT_BEGIN, "d", True),
    ]
    for name in "bc":
        own_database[name].drop()
    _fill(own_database, "a", range(5))
    _fill(own_database, "c2", range(5))
    rest = list(reading.batches(marks=True))
    records = _records([read[0], *rest])
    assert _read(records, "b") == list(range(40))
    after = {name: n for name, n in _after(records).items() if name[0] != "b"}
    assert after == _at_server(own_database, "a", "c2", "d"), "what b had goes with the mark of its drop"
    snapshot = [mark for mark in _marks(rest) if mark[0] in (MarkKind.SNAPSHOT_BEGIN, MarkKind.SNAPSHOT_END)]
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
        _fill(own_database, name, range(60))
    reading = _capture(mongo, own_database, snapshot_batch_rows=40)
    with reading.source() as source:
        start = source.initial_offset()
        end = source.cut(start, source.latest_offset(start), 1)
        splits = source.plan(start, end, 2)
        own_database.a.drop()
        assert _records([read_elsewhere(reading.config(), split) for split in splits]) == []
        own_database.b.drop()
        reading.offset = end
        records = []
        while source.owes_rows(start := reading.offset):
            end = source.cut(start, source.latest_offset(start), 1)
            for split in source.plan(start, end, 2):
                records += _records([read_elsewhere(reading.config(), split)])
            reading.offset = end
    assert Counter(change(each)["source"]["collection"] for each in records) == {"c": 60}


def test_a_batch_has_no_more_than_so_many_collections(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_batches, "MOST_COLLECTIONS", 2)
    for name in "abcde":
        _fill(own_database, name, range(3))
    batches = list(_capture(mongo, own_database).batches())
    assert [len(_records([batch])) for batch in batches] == [6, 6, 3]


def _marks(batches: Iterable[Sequence[Batch]]) -> list[tuple[MarkKind, str, bool | None]]:
    marks = [mark for batch in batches for part in batch for mark in part.marks]
    return [(mark.kind, mark.table.rpartition(".")[2], mark.of_shared) for mark in marks]


def test_where_tables_are_kept_batches_have_whole_collections(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_WORTH_DIVIDING", 10)
    for name, documents in {"a": 100, "b": 3, "c": 50}.items():
        _fill(own_database, name, range(documents))
    batches = list(_capture(mongo, own_database, snapshot_batch_rows=0).batches(max_bytes=1000, marks=True))
    assert [len(_records([batch])) for batch in batches] == [100, 53]
    begun = [name for kind, name, shared in _marks(batches) if kind is MarkKind.SNAPSHOT_BEGIN and not shared]
    ended = [name for kind, name, _ in _marks(batches) if kind is MarkKind.SNAPSHOT_END]
    assert begun == ended == ["a", "b", "c"]


def test_collections_are_read_again_in_batches(mongo: MongoReplicaSet, own_database: Own) -> None:
    for name in "ab":
        _fill(own_database, name, range(100))
    reading = _capture(mongo, own_database)
    list(reading.batches())
    own_database.a.delete_one({"_id": 7})
    with closing(SqliteStateStore(reading.folder)) as state:
        ask(state, reading.offset or {}, [f"{own_database.name}.a"])
    batches = reading.batches()
    assert [shown(each)[0] for each in _records([next(batches)])] == ["d", None], "the stream comes first"
    first = _records([next(batches)])
    assert len(first) == 80
    own_database.b.insert_one({"_id": 1000, "n": 1000})
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    assert (reading.offset or {})["cdckit_resnapshot"]["done"] is False
    with reading.source() as source:
        assert source.owes_rows(reading.offset or {})
    rest = _records(reading.batches())
    assert _read([*first, *rest]) == [n for n in range(100) if n != 7]
    assert [shown(each)[:2] for each in rest if change(each)["source"]["collection"] == "b"] == [("c", "1000")]
    with reading.source() as source:
        assert not source.owes_rows(reading.offset or {})


def test_what_is_told_of_how_far_it_is(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Parts that are planned, one for what was read before a restart, and how many there are with the last one."""
    _fill(own_database, "a", range(100))
    _fill(own_database, "b", range(10))
    reading = _capture(mongo, own_database, snapshot_batch_rows=40)
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


def test_a_place_whose_document_is_still_to_be_read_stays_one() -> None:
    """With several connections documents behind it may come first."""
    start = SnapshotPlace("d.a", "00", 7, included=True, read=40)
    one = ChosenCollection("d", "a", 100)
    parts = [Part(one, "00", "01", True, True, False), Part(one, "01", None, True, False, False)]
    reached = Reached(parts, start)
    reached.take(1, [{"_id": 1}])
    assert reached.place(9) == SnapshotPlace("d.a", "00", 9, included=True)
    reached.take(0, [{"_id": 0}])
    assert reached.place(9) == SnapshotPlace("d.a", identifier_text(0), 9)
    reached.end(0)
    assert reached.place(9) == SnapshotPlace("d.a", identifier_text(1), 9)


@pytest.fixture(scope="module")
def forgetting() -> Any:
    """A set that forgets quickly."""
    with forgetful() as replica_set:
        yield replica_set


def test_a_moment_that_is_gone_begins_the_snapshot_anew(
    forgetting: MongoReplicaSet, unique_name: str, caplog: pytest.LogCaptureFixture
) -> None:
    with forgetting.client() as client:
        _fill(client[unique_name], "a", range(100))
        reading = Capture(forgetting.uri, database_include_list=unique_name, snapshot_batch_rows=40)
        batches = reading.batches()
        next(batches), next(batches)
        assert reading.offset is not None
        fill_the_oplog(client, reading.offset)
        client[unique_name].a.delete_one({"_id": 0})
        with pytest.raises(SnapshotDueError, match=r"gone from the oplog.*the snapshot begins anew"):
            next(batches)
        records = _records(reading.batches())
    assert "a new snapshot is taken" in caplog.text
    assert _read(records) == list(range(1, 100))


def test_it_is_told_when_the_oplog_drops_the_moment(forgetting: MongoReplicaSet, unique_name: str) -> None:
    """A snapshot takes as long as it takes, and the stream goes on from where it began."""
    with forgetting.client() as client:
        _fill(client[unique_name], "a", range(100))
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


def test_numbers_of_documents_never_meet_and_never_end() -> None:
    """Of however many batches and chunks; and a batch that is planned anew in other chunks keeps to its own."""
    start: SnapshotPlace | None = None
    found: list[tuple[int, int]] = []
    for batch in range(3000):
        some = [Chunk("d", "a", "00", "00", 10)] * (batch % 40 + 1)
        place = place_behind(some, start)
        for planned in (some, some * 3):
            firsts = [chunk.first_row for chunk in numbered(planned, start, place)]
            assert firsts == sorted(set(firsts))
            assert firsts[0] >= (0 if start is None else start.rows)
            assert firsts[-1] < place.rows < SNAPSHOT_NUMBERS
        found += [(chunk.first_row, chunk.first_row) for chunk in numbered(some, start, place)]
        if len(found) == 50_000:
            break
        start = place


@pytest.mark.parametrize("given", [50_000, 90_000])
def test_so_many_chunks_have_numbers_for_ten_billion_documents_each(given: int) -> None:
    firsts = [chunk.first_row for chunk in numbered([Chunk("d", "a")] * given, None, None)]
    assert firsts[1] - firsts[0] == 10**7
    assert firsts[-1] < SNAPSHOT_NUMBERS
