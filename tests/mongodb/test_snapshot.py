"""Snapshots: modes, parts, resuming, chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from bson import Int64, ObjectId
from pymongo.database import Database

from cdckit.api.hookspecs import hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.api.snapshotting import SnapshotMode
from cdckit.errors import ConfigError
from cdckit_mongodb.snapshot import whole
from cdckit_mongodb.splits import ChunkWork
from mongodb.capture import Capture, change, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]


def _capture(mongo: MongoReplicaSet, database: Own, **options: Any) -> Capture:
    return Capture(mongo.uri, database_include_list=database.name, **options)


def test_documents_are_read_then_the_stream_goes_on(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_many({"_id": number} for number in range(5000))
    capture = _capture(mongo, own_database)
    assert [shown(record)[0] for record in capture.once()] == ["r"] * 5000
    own_database.a.insert_one({"_id": 5000})
    assert [shown(record) for record in capture.once()] == [("c", "5000", {"_id": 5000})]
    assert capture.once() == []


@pytest.mark.parametrize(
    ("mode", "runs"),
    [
        ("initial", ["r", "c", "c"]),
        ("always", ["r", "rr", "rrr"]),
        ("initial_only", ["r", "", ""]),
        ("no_data", ["", "c", "c"]),
        ("never", ["", "c", "c"]),
        ("when_needed", ["r", "c", "c"]),
    ],
)
def test_modes(mongo: MongoReplicaSet, own_database: Own, mode: str, runs: list[str]) -> None:
    capture = _capture(mongo, own_database, snapshot_mode=mode)
    for number, expected in enumerate(runs):
        own_database.a.insert_one({"_id": number})
        assert "".join(str(shown(record)[0]) for record in capture.once()) == expected


def test_configuration_based_mode_does_what_its_options_say(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    options = {
        "snapshot_mode": "configuration_based",
        "snapshot_mode_configuration_based_snapshot_data": True,
        "snapshot_mode_configuration_based_start_stream": False,
    }
    capture = _capture(mongo, own_database, **options)
    assert [shown(record)[0] for record in capture.once()] == ["r"]
    own_database.a.insert_one({"_id": 2})
    assert capture.once() == []


class _Evening(SnapshotMode):
    """Documents at every start but the first, the stream never."""

    streams = False

    def takes_data(self, *, offset_exists: bool, in_progress: bool) -> bool:
        return offset_exists

    def takes_schema(self, *, offset_exists: bool, in_progress: bool) -> bool:
        return False


class _Plugin:
    """Knows the mode `evening`."""

    @hookimpl
    def cdckit_snapshot_mode(self, name: str) -> SnapshotMode | None:
        return _Evening() if name == "evening" else None


@pytest.fixture
def plugin() -> Iterator[_Plugin]:
    made = _Plugin()
    plugin_manager().register(made)
    yield made
    plugin_manager().unregister(made)


@pytest.mark.usefixtures("plugin")
def test_a_plugin_decides_when_a_snapshot_is_taken(mongo: MongoReplicaSet, own_database: Own) -> None:
    capture = _capture(mongo, own_database, snapshot_mode="custom", snapshot_mode_custom_name="evening")
    for number, expected in enumerate(["", "rr", "rrr"]):
        own_database.a.insert_one({"_id": number})
        assert "".join(str(shown(record)[0]) for record in capture.once()) == expected


def test_a_filter_chooses_part_of_a_collection(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_many({"_id": number, "n": number % 3, "at": Int64(5)} for number in range(9))
    own_database.b.insert_one({"_id": 1})
    name = f"{own_database.name}.a"
    capture = _capture(mongo, own_database, snapshot_collection_filter_overrides=name)
    capture.options[f"snapshot.collection.filter.overrides.{name}"] = '{"n": 2, "at": {"$numberLong": "5"}}'
    assert sorted(str(shown(record)[1]) for record in capture.once()) == ["1", "2", "5", "8"]


def test_some_of_the_captured_collections_are_read(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    own_database.b.insert_one({"_id": 2})
    capture = _capture(mongo, own_database, snapshot_include_collection_list=f"{own_database.name}.b")
    assert [shown(record)[1] for record in capture.once()] == ["2"]
    own_database.a.insert_one({"_id": 3})
    assert [shown(record)[1] for record in capture.once()] == ["3"]


def test_an_interrupted_snapshot_goes_on_where_it_was(
    mongo: MongoReplicaSet, own_database: Own, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Large collections are read in the order of `_id`, whatever types it has, and go on in their middle."""
    monkeypatch.setattr(whole, "IN_ORDER_FROM", 100)
    numbers: list[Any] = [*range(300), *(f"s{number:03d}" for number in range(200)), ObjectId(), True]
    own_database.b.insert_many({"_id": number} for number in numbers)
    own_database.a.insert_one({"_id": "first"})
    capture = _capture(mongo, own_database, snapshot_fetch_size=70)
    while capture.offset is None or capture.offset.get("initsync"):
        seen = len(capture.records)
        capture.once(until=lambda seen=seen: len(capture.records) > seen)  # type: ignore[misc]
    assert len(capture.records) == len(numbers) + 1
    assert len({shown(record)[1] for record in capture.records}) == len(numbers) + 1
    positions = [record.position for record in capture.records]
    assert positions == sorted(set(positions))
    assert change(capture.records[-1])["source"]["snapshot"] == "last"


def test_chunks_cover_a_collection_of_mixed_identifiers(mongo: MongoReplicaSet, own_database: Own) -> None:
    numbers: list[Any] = [*range(25_000), *(f"s{number}" for number in range(25_000)), ObjectId(), False]
    own_database.a.insert_many({"_id": number} for number in numbers)
    own_database.b.insert_one({"_id": 1})
    capture = _capture(mongo, own_database)
    with capture.source() as source:
        start = source.initial_offset()
        end = source.latest_offset(start)
        splits = source.plan(start, end, 3)
        own_database.a.insert_one({"_id": "later"})
        assert len(splits) == 3
        assert sum(len(split.payload.chunks) for split in splits if isinstance(split.payload, ChunkWork)) > 4
        records = [record for split in splits for batch in source.read(split) for record in batch.records]
        late = source.latest_offset(end)
        after = [record for split in source.plan(end, late) for batch in source.read(split) for record in batch.records]
    found = {(record.topic, shown(record)[1]) for record in records}
    assert len(found) == len({record.position for record in records}) == len(records)
    assert len(records) in (len(numbers) + 1, len(numbers) + 2)
    assert [shown(record) for record in after] == [("c", '"later"', {"_id": "later"})]
    assert after[0].position > max(record.position for record in records)


def test_a_snapshot_begun_in_one_process_goes_on_in_chunks_from_its_own_moment(
    mongo: MongoReplicaSet, own_database: Own
) -> None:
    """What was deleted since it began, and may have been told already, is told to be gone."""
    own_database.a.insert_many({"_id": number} for number in range(10))
    own_database.b.insert_many({"_id": number} for number in range(5_000))
    capture = _capture(mongo, own_database)
    capture.once(until=lambda: bool(capture.records))
    assert capture.offset is not None and "cdckit_snapshot" in capture.offset
    own_database.a.delete_many({"_id": {"$lt": 3}})
    with capture.source() as source:
        end = source.latest_offset(capture.offset)
        for start, stop in ((capture.offset, end), (end, source.latest_offset(end))):
            for split in source.plan(start, stop, 2):
                for batch in source.read(split):
                    capture.take(batch)
        assert source.plan(end, None)[0].end is None
    held: dict[tuple[str, str], bool] = {}
    for record in capture.records:
        operation, key, _ = shown(record)
        held[record.topic, key] = operation not in ("d", None)
    assert sum(held.values()) == 7 + 5_000
    assert len(held) == 5_010


def test_more_collections_than_may_be(mongo: MongoReplicaSet, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    own_database.b.insert_one({"_id": 2})
    assert len(_capture(mongo, own_database, guardrail_collections_max=1).once()) == 2
    limited = _capture(mongo, own_database, guardrail_collections_max=1, guardrail_collections_limit_action="fail")
    with pytest.raises(ConfigError, match=r"^source\.guardrail\.collections\.max: 2 are captured, 1 may be"):
        limited.once()
