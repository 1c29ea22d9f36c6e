"""What a source cannot decode: kept with its bytes while the rest goes on, and decoded again by today's options."""

from __future__ import annotations

import base64
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.api.record import POSITION_HEADER
from cdckit.api.source import SourceContext
from cdckit.api.undecoded import Undecoded
from cdckit.errors import DecodeError, StateError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.extended_json import Dialect
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.streaming.processor import StreamProcessor
from cdckit_ticdc.message import Message
from mongodb.conftest import own_database
from quarantine.conftest import Cdc, Shop
from testkit.running import to_file
from testkit.servers.mongodb import MongoReplicaSet
from ticdc.conftest import topic
from ticdc.emulation import Emulator, make_history
from ticdc.recordings import lines
from ticdc.topics import Topic

__all__ = ["own_database", "topic"]

NO_DAY = "SET sql_mode = 'ALLOW_INVALID_DATES'"
KEEPS = {"errors.tolerance": "quarantine"}


@pytest.fixture
def days(shop: Shop) -> Shop:
    """The table with a column of dates, as texts are in the other tests; a pipeline that has read it."""
    shop = shop.given(transforms=[{"type": "ExtractNewRecordState"}])
    shop.run_sql("ALTER TABLE orders ADD COLUMN day DATE")
    assert shop.run().code == 0
    return shop


def _ids(shop: Shop) -> list[int]:
    return [number for number, _ in shop.delivered()]


def test_rows_that_cannot_be_decoded_are_kept_and_the_rest_goes_on(days: Shop) -> None:
    days.run_sql(NO_DAY, "INSERT INTO orders VALUES (1, 'a', '2021-02-03')", "INSERT INTO orders VALUES (2, 'b', NULL)")
    days.run_sql(
        NO_DAY, "UPDATE orders SET day = '2021-02-31' WHERE id = 2", "INSERT INTO orders VALUES (3, 'c', NULL)"
    )
    offset = days.pipeline.offset()
    ended = days.run()
    assert ended.code == 0, ended.stderr
    assert _ids(days) == [1, 2, 3]
    _, status, _ = days.cdc("status")
    assert "in the last run: decode 1" in status
    assert days.cdc("offsets", "set", json.dumps(offset))[0] == 0
    assert days.run().code == 0
    assert _ids(days) == [1, 2, 3] * 2
    (kept,) = days.kept()
    assert (kept["stage"], kept["by"], kept["topic"]) == ("decode", "mysql", days.topic)
    assert f"rows of {days.database}.orders cannot be decoded" in kept["reason"]
    assert "2021-02-31" in kept["reason"]
    content = days.content(kept["number"])
    assert b"b" in base64.b64decode(content["raw"]["rows"])
    assert [column["name"] for column in content["facts"]["definition"]["columns"]] == ["id", "amount", "day"]


def test_a_replay_decodes_by_todays_options(days: Shop) -> None:
    days.run_sql("INSERT INTO orders VALUES (1, 'a', NULL)")
    days.run_sql(NO_DAY, "INSERT INTO orders VALUES (2, 'b', '2021-02-31'), (3, 'c', '2021-02-03')")
    days.run_sql("INSERT INTO orders VALUES (4, 'd', NULL)")
    assert days.run().code == 0
    assert _ids(days) == [1, 4]
    code, _, said = days.cdc("replay")
    assert (code, "2021-02-31" in said) == (6, True)
    code, _, said = days.cdc("replay", "--set", "source.event.converting.failure.handling.mode=skip")
    assert code == 0, said
    events = days.pipeline.events()
    assert [(event["value"]["id"], event["value"]["day"]) for event in events[2:]] == [(2, None), (3, 18661)]
    positions = [_position(event) for event in events]
    assert positions[0] < positions[2] < positions[3] < positions[1]
    assert days.kept() == []


def _position(event: dict[str, Any]) -> str:
    position: str = next(header["value"] for header in event["headers"] if header["key"] == POSITION_HEADER)
    return position


def test_rows_of_a_table_whose_definition_was_lost_fit_once_it_is_known_again(days: Shop) -> None:
    days.run_sql("SET sql_log_bin = 0", "ALTER TABLE orders ADD COLUMN more INT")
    days.run_sql("INSERT INTO orders VALUES (1, 'a', NULL, 5)")
    assert days.run().code == 0
    assert len(days.kept()) == 1
    assert days.cdc("replay")[0] == 6
    ended = days.cdc("run", "--once", "--set", "source.snapshot.mode=recovery")
    assert ended[0] == 0, ended
    code, _, said = days.cdc("replay")
    assert code == 0, said
    assert [(event["value"]["id"], event["value"]["more"]) for event in days.pipeline.events()] == [(1, 5)]


@pytest.mark.parametrize(
    "options",
    [{"quarantine_later_changes": "wait"}, {"column_exclude_list": r".*\.amount"}, {"errors_tolerance": "all"}],
)
def test_what_may_not_be_kept_stops_the_pipeline(days: Shop, options: dict[str, str]) -> None:
    """Its key is not known, so that nothing can wait for it, and its bytes show what the events do not."""
    days.run_sql(NO_DAY, "INSERT INTO orders VALUES (1, 'a', '2021-02-31')")
    name, value = next((name.replace("_", "."), value) for name, value in options.items())
    place = "source." if name.startswith("column") else ""
    code, _, errors = days.cdc("run", "--once", "--set", f"{place}{name}={value}")
    assert (code, "rows of" in errors) == (5, True), errors


def test_a_full_quarantine_stops_the_pipeline_at_an_event(days: Shop) -> None:
    days.run_sql(NO_DAY, *[f"INSERT INTO orders VALUES ({number}, 'x', '2021-02-31')" for number in range(3)])
    ended = days.given(quarantine_max_records=2).run()
    assert ended.code == 5
    assert "the quarantine holds 2 records, and takes no more (quarantine.max.records)" in ended.errors
    assert days.run().code == 0
    assert len(days.kept()) == 3


@pytest.mark.parametrize("watermarks", [True, False])
def test_a_message_of_ticdc_that_is_none_is_kept(
    topic: Topic, capfd: pytest.CaptureFixture[str], watermarks: bool
) -> None:
    emulator = Emulator(random.Random(4), partitions=1, watermarks=watermarks, restarts=0)
    (messages,) = emulator.write(make_history(random.Random(4), 20)).values()
    topic.produce([*messages[:10], Message("", 0, 0, b"k", b"{"), *messages[10:]])
    cdc = Cdc(to_file(topic.folder, {"type": "ticdc", "protocol": "debezium", **_places(topic)}, **KEEPS), capfd)
    for _ in range(2):
        assert cdc("run", "--once")[0] == 0
        (kept,) = cdc.kept()
        assert (kept["stage"], kept["by"], kept["topic"]) == ("decode", "ticdc", topic.name)
        assert f"topic {topic.name}, partition 0, offset 10: no message of this protocol" in kept["reason"]
    _, out, _ = cdc("quarantine", "show", "1")
    assert json.loads(out)["content"]["raw"] == {"key": "aw==", "value": "ew=="}
    assert cdc("replay")[0] == 6
    assert len(cdc.pipeline.events()) == sum(b'"op":"m"' not in (message.value or b"") for message in messages)


def test_partitions_that_are_read_apart_give_away_the_same_message(topic: Topic) -> None:
    """And who looks ahead for the watermark passes over it, too."""
    emulator = Emulator(random.Random(4), restarts=0)
    log = emulator.write(make_history(random.Random(4), 20)).values()
    topic.produce([message for messages in log for message in messages])
    topic.produce([Message("", 1, 0, b"k", b"{")])
    topic.produce([messages[-1] for messages in log])
    found: list[tuple[list[str], list[str]]] = []
    for parallelism in (1, 3):
        pieces: list[Undecoded] = []
        source = topic.source("ticdc")
        source.open(SourceContext("test", undecoded=pieces.append))
        start = source.initial_offset()
        splits = source.plan(start, source.latest_offset(start, 5.0), parallelism)
        assert len(splits) == parallelism
        records = [record.position for split in splits for batch in source.read(split) for record in batch.records]
        source.close()
        found.append((sorted(records), sorted({piece.position for piece in pieces})))
    assert found[0] == found[1]
    assert (len(found[0][0]) > 20, len(found[0][1])) == (True, 1)


def test_a_row_whose_schema_comes_later_is_replayed(topic: Topic, capfd: pytest.CaptureFixture[str]) -> None:
    definitions: list[Message] = []
    rows: list[Message] = []
    for line in lines("simple-json", "composite_pk"):
        (rows if line.kind == "row" else definitions).append(line.message._replace(partition=0))
    topic.produce([*rows, *definitions])
    cdc = Cdc(
        to_file(
            topic.folder, {"type": "ticdc", "protocol": "simple", "watermarks": "never", **_places(topic)}, **KEEPS
        ),
        capfd,
    )
    assert cdc("run", "--once")[0] == 0
    assert len(cdc.kept()) == len(rows)
    assert all("no message has brought its schema version" in kept["reason"] for kept in cdc.kept())
    code, _, said = cdc("replay")
    assert code == 0, said
    assert len(cdc.pipeline.events()) == len(rows)
    assert cdc.kept() == []


def test_a_message_of_debezium_that_does_not_fit_its_schema_is_kept(
    topic: Topic, capfd: pytest.CaptureFixture[str]
) -> None:
    good = b'{"schema":{"type":"struct","fields":[{"type":"int32","field":"id"}]},"payload":{"id":1}}'
    bad = good.replace(b":1}", b':"x"}')
    topic.produce([Message("", 1, 0, b"k", value) for value in (good, bad, good)])
    cdc = Cdc(to_file(topic.folder, {"type": "debezium", **_places(topic)}, **KEEPS), capfd)
    assert cdc("run", "--once")[0] == 0
    assert [event["value"] for event in cdc.pipeline.events()] == [{"id": 1}, {"id": 1}]
    (kept,) = cdc.kept()
    assert "partition 1, offset 1: id: is 'x', no integer" in kept["reason"]
    assert cdc("replay")[0] == 6
    assert cdc("quarantine", "drop", "--all")[0] == 0
    assert cdc("run", "--once")[0] == 0
    assert cdc.kept() == []


def test_a_quarantine_that_cannot_be_written_is_no_fault_of_an_event() -> None:
    def full(piece: Undecoded) -> None:
        raise StateError(f"no room for {piece.topic}")

    config = MongoDbConfig.load({"topic.prefix": "t", "mongodb.connection.string": "mongodb://x"}, "source")[0]
    start = StreamOffset(sec=1, ord=1)
    processor = StreamProcessor(config, Filters(config), Collections(config), start, give_away=full)
    event = {
        "_id": {"_data": "82" + "0" * 16 + "2B022C010029"},
        "operationType": "insert",
        "ns": {"db": "d", "coll": "c"},
    }
    with pytest.raises(StateError, match=r"no room for t\.d\.c"):
        processor.process_all([event])


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents with a member `broken` cannot be shown."""
    write = Dialect.document

    def failing(self: Dialect, document: dict[str, Any]) -> str:
        if document.get("broken"):
            raise DecodeError("broken on purpose")
        return write(self, document)

    monkeypatch.setattr(Dialect, "document", failing)


def test_a_document_that_cannot_be_shown_is_kept_and_replayed(
    mongo: MongoReplicaSet,
    own_database: Database[dict[str, Any]],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    breaking: None,
) -> None:
    own_database.create_collection("a")
    source = {
        "type": "mongodb",
        "topic.prefix": "t",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": own_database.name,
    }
    cdc = Cdc(to_file(tmp_path, source, **KEEPS), capfd)
    assert cdc("run", "--once")[0] == 0
    moment = datetime(9000, 1, 1, tzinfo=UTC)
    documents: list[dict[str, Any]] = [
        {"_id": 1},
        {"_id": 2, "broken": True, "x": [1.5, {"at": moment}, float("inf")]},
        {"_id": 3},
    ]
    own_database.a.insert_many(documents)
    assert cdc("run", "--once")[0] == 0
    (kept,) = cdc.kept()
    assert (kept["stage"], kept["by"], kept["topic"]) == ("decode", "mongodb", f"t.{own_database.name}.a")
    assert cdc("replay")[0] == 6
    monkeypatch.undo()
    code, _, said = cdc("replay")
    assert code == 0, said
    shown = [json.loads(event["value"]["after"]) for event in cdc.pipeline.events()]
    assert [document["_id"] for document in shown] == [1, 3, 2]
    assert shown[2] == {
        "_id": 2,
        "broken": True,
        "x": [1.5, {"at": {"$date": 221845392000000}}, float("inf")],
    }


def _places(topic: Topic) -> dict[str, Any]:
    return {"bootstrap.servers": topic.broker.bootstrap, "topics": [topic.name]}
