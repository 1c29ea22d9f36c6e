"""Positions sort as the stream does and tell its records apart, also where several shards share a cluster time."""

from __future__ import annotations

import json
from datetime import datetime
from itertools import pairwise
from typing import Any

from bson import Timestamp
from hypothesis import given, strategies as some

from cdckit.api.record import Record
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.streaming.processor import StreamProcessor
from cdckit_mongodb.tokens import Token, is_event, token_place, token_time
from mongodb.capture import shown

Place = tuple[int, int, int]
"""Seconds, the number within the second, the operation's number in its transaction."""

CONFIG = MongoDbConfig.load(
    {"topic.prefix": "t", "mongodb.connection.string": "mongodb://x", "collection.include.list": "d.a"}, "source"
)[0]


def _number(value: int) -> str:
    """A whole number as key strings have it."""
    return "29" if value == 0 else f"2B{value << 1:02X}" if value < 0x80 else f"2C{value << 1:04X}"


def _token(place: Place, event: int) -> Token:
    """The token of an event; those of one place differ in what stands behind it."""
    second, order, operation = place
    moment, version, kind = f"82{second:08X}{order:08X}", _number(1), _number(128)
    return {"_data": f"{moment}{version}{kind}{_number(operation)}296E5A{event:08X}04"}


def _event(place: Place, number: int, collection: str) -> dict[str, Any]:
    second, order, _ = place
    return {
        "_id": _token(place, number),
        "operationType": "delete" if number % 3 == 0 else "insert",
        "clusterTime": Timestamp(second, order),
        "wallTime": datetime(2026, 1, 1),
        "ns": {"db": "d", "coll": collection},
        "documentKey": {"_id": number},
        "fullDocument": {"_id": number},
    }


PLACES = some.tuples(some.integers(100, 102), some.integers(1, 2), some.sampled_from([0, 0, 0, 1, 2, 127, 128, 300]))
EVENTS = some.lists(some.tuples(PLACES, some.sampled_from("aaab")), max_size=30).map(
    lambda found: [_event(place, n, name) for n, (place, name) in enumerate(sorted(found, key=lambda one: one[0]), 1)]
)
CUTS = some.sets(some.integers(0, 30), max_size=6)


@given(EVENTS, CUTS)
def test_records_have_positions_of_their_own_in_the_streams_order(events: list[dict[str, Any]], cuts: set[int]) -> None:
    """Whether they are read in one go, or the pipeline is stopped and goes on between any two of them."""
    records = _read(events, cuts)
    positions = [record.position for record in records]
    assert positions == sorted(set(positions))
    captured = [str(event["documentKey"]["_id"]) for event in events if event["ns"]["coll"] == "a"]
    assert [shown(record)[1] for record in records if record.value] == captured


def _read(events: list[dict[str, Any]], cuts: set[int]) -> list[Record]:
    """The records of events that are read in stretches, each from the offset of the one before."""
    offset, records = StreamOffset(sec=1, ord=1), []
    borders = sorted({0, len(events), *(cut for cut in cuts if cut < len(events))})
    for begin, end in pairwise(borders):
        processor = StreamProcessor(CONFIG, Filters(CONFIG), Collections(CONFIG), offset)
        processor.process_all(events[begin:end])
        records += processor.take()
        kept = processor.offset(events[end - 1]["_id"], complete=True).to_json()
        offset = StreamOffset.from_json(json.loads(json.dumps(kept)))
    return records


@given(PLACES)
def test_tokens_are_read_as_they_are_made(place: Place) -> None:
    token = _token(place, 1)
    assert token_time(token) == place[:2]
    assert token_place(token) == (f"{place[0]:08X}{place[1]:08X}", place[2])
    assert is_event(token)
