"""Snapshots that one runner begins and the other goes on with, in the middle of collections."""

from __future__ import annotations

from collections import Counter

import pytest

from cdckit.api.record import Record
from cdckit_mongodb.offsets import SnapshotPlace
from cdckit_mongodb.snapshot import chunks, whole
from cdckit_mongodb.snapshot.collections import ChosenCollection, identifier_text
from cdckit_mongodb.snapshot.parallel import Part, Reached
from mongodb.capture import Capture, read_elsewhere, shown
from mongodb.snapshot_batches import (
    KINDS,
    Own,
    assert_unlike_positions,
    capture_of,
    fill,
    numbers_read,
    records_of,
)
from testkit.servers.mongodb import MongoReplicaSet


def test_what_is_left_may_be_one_batch(mongo: MongoReplicaSet, own_database: Own) -> None:
    """As `spark.read` reads it, and Spark where it cuts nothing."""
    fill(own_database, "a", range(200))
    fill(own_database, "b", range(30))
    reading = capture_of(mongo, own_database)
    batches = reading.batches()
    first = records_of([next(batches)])
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    with reading.source() as source:
        start = reading.offset or {}
        planned = source.plan(start, source.latest_offset(start), 3)
        rest = records_of([read_elsewhere(reading.config(), split) for split in planned])
    assert len(planned) == 3
    assert (numbers_read([*first, *rest]), numbers_read(rest, "b")) == (list(range(200)), list(range(30)))
    assert_unlike_positions([*first, *rest])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("spark_first", [True, False])
def test_either_runner_goes_on_where_the_other_stopped(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch, threads: int, spark_first: bool
) -> None:
    """In turn, in the middle of collections, until all is read: no document is lost, and none is read twice."""
    monkeypatch.setattr(whole, "IN_ORDER_FROM", 20)
    monkeypatch.setattr(chunks, "_WORTH_DIVIDING", 10)
    fill(own_database, "a", [*range(100), *KINDS[7:]])
    fill(own_database, "b", range(100))
    options = {"snapshot_batch_rows": 40, "snapshot_max_threads": threads, "snapshot_fetch_size": 7}
    reading, on_spark = capture_of(mongo, own_database, **options), spark_first
    records: list[Record] = []
    rounds = 0
    while reading.offset is None or reading.offset.get("initsync"):
        rounds += 1
        if on_spark:
            batches = reading.batches()
            records += records_of([next(batches)])
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
    assert_unlike_positions(records)


def _until_in_order(reading: Capture) -> list[Record]:
    """What the direct runner reads until it stands somewhere else within the snapshot, or at its end."""
    before, first = reading.offset, len(reading.records)

    def moved() -> bool:
        return reading.offset != before and len(reading.records) > first

    return reading.once(until=moved)


def test_the_direct_runner_reads_the_document_that_a_place_stands_at(mongo: MongoReplicaSet, own_database: Own) -> None:
    """Also where nothing was read of what comes first, as with several connections."""
    fill(own_database, "a", range(100))
    for threads in (1, 3):
        reading = capture_of(mongo, own_database, snapshot_max_threads=threads)
        batches = reading.batches()
        read = records_of([next(batches)])
        next(batches)
        batches.close()  # type: ignore[attr-defined]
        collection, after, _, included, told = (reading.offset or {})["cdckit_snapshot"]
        assert (collection, included, told) == (f"{own_database.name}.a", True, 80)
        assert after
        assert numbers_read([*read, *reading.once()]) == list(range(100))
        assert "cdckit_after_snapshot" not in (reading.offset or {})


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
