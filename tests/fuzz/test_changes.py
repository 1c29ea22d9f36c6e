"""MongoDB's answers that are damaged: records that can be written, or an error with its place; no other exception."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from typing import Any, cast

import bson
import pytest
from bson.datetime_ms import DatetimeMS

from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import DecodeError, SourceError
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.events.collection_events import Collections
from cdckit_mongodb.filters import Filters
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.server.connection import CODEC, Client, driver_errors
from cdckit_mongodb.snapshot.collections import ChosenCollection, documents
from cdckit_mongodb.streaming.cursor import ChangeStream
from cdckit_mongodb.streaming.processor import StreamProcessor
from fuzz.changes import Servers, damaged_answer, recorded
from fuzz.documents import mutated_bytes
from fuzz.guard import limited

START = StreamOffset(sec=1, ord=1)
SERIALIZER = JsonSerializer(JsonConfig())


@cache
def _config() -> MongoDbConfig:
    given = {
        "topic.prefix": "p",
        "mongodb.connection.string": "mongodb://h:27017/?replicaSet=r",
        "provide.transaction.metadata": True,
        "capture.mode": "change_streams_update_full_with_pre_image",
        "topic.collisions": "merge",
    }
    config, _ = MongoDbConfig.load(given, "source")
    return config


def read(answer: bytes) -> int:
    """What a source does with an answer, and a pipeline with what comes out; how many records that was."""
    config = _config()
    processor = StreamProcessor(config, Filters(config), Collections(config), START)
    made = 0
    with ChangeStream(cast(Client, Servers(answer)), config, START) as stream:
        while stream.alive:
            processor.process_all(stream.next(10))
            records = processor.take()
            SERIALIZER.serialize(records)
            StreamOffset.from_json(processor.offset(stream.token, complete=True).to_json())
            made += len(records)
    return made


def _first(answer: bytes) -> bytes:
    """An answer as the one to the first command."""
    cursor: dict[str, Any] = bson.decode(answer, CODEC)["cursor"]
    events = cursor.pop("nextBatch", None)
    return answer if events is None else bson.encode({"cursor": {**cursor, "firstBatch": events}}, codec_options=CODEC)


def test_recorded_answers_are_read() -> None:
    assert sum(read(_first(answer)) for answer in recorded()) > 50


def test_times_beyond_64_bits_are_damage() -> None:
    """Where documents before the change are told of, and where they are not."""
    for more in ({}, {"fullDocumentBeforeChange": {"_id": 1}}):
        for milliseconds in (2**63 - 1, -(2**63)):
            answer = bson.decode(_first(next(iter(recorded()))), CODEC)
            event = next(one for one in answer["cursor"]["firstBatch"] if one.get("fullDocument"))
            event.update(more, wallTime=DatetimeMS(milliseconds))
            said = rf": an event of .*\..* cannot be decoded: .* its wallTime, {milliseconds} ms, is beyond 64 bits"
            with pytest.raises(DecodeError, match=said):
                read(bson.encode(answer, codec_options=CODEC))


def test_damaged_answers(cases: range) -> None:
    answers, told_of = [_first(answer) for answer in recorded()], 0
    for seed in cases:
        random = Random(seed)
        answer = damaged_answer(random.choice(answers), random)
        with limited(f"seed {seed}", DecodeError):
            try:
                read(answer)
            except DecodeError as error:
                told_of += 1
                assert re.search(r"behind \d+:\d+|\d+:\d+: an event of ", str(error))
                raise
    assert told_of


class _Documents(Servers):
    """Servers that give one batch of documents."""

    def __getitem__(self, _name: str) -> _Documents:
        return self

    def get_collection(self, *_names: object, **_options: object) -> _Documents:
        return self

    def find_raw_batches(self, *_query: object, **_options: object) -> _Documents:
        return self

    def max_time_ms(self, _most: int | None) -> None:
        pass

    def __next__(self) -> bytes:
        if not self.answer:
            raise StopIteration
        answer, self.answer = self.answer, b""
        return answer

    def close(self) -> None:
        pass


def _snapshot(batch: bytes) -> None:
    config = _config()
    chosen = ChosenCollection("d", "c", 3)
    collection = Collections(config).of("d", "c")
    for found in documents(cast(Client, _Documents(batch)), config, None, chosen):
        SERIALIZER.serialize(collection.reads(found, START.time, 0))


def test_damaged_documents_of_a_snapshot(cases: range) -> None:
    events = [event for answer in recorded() for event in bson.decode(_first(answer), CODEC)["cursor"]["firstBatch"]]
    kept = [bson.encode(event["fullDocument"], codec_options=CODEC) for event in events if event.get("fullDocument")]
    for seed in cases:
        random = Random(seed)
        batch = mutated_bytes(b"".join(random.sample(kept, 3)), random, as_long=random.random() < 0.8)
        with limited(f"seed {seed}", DecodeError):
            try:
                _snapshot(batch)
            except DecodeError as error:
                assert "h:27017, reading d.c: the answer" in str(error) or "d.c" in str(error)
                raise


@pytest.mark.parametrize("error", [bson.errors.InvalidBSON("x"), KeyError("ok"), AssertionError(), RecursionError()])
def test_what_the_driver_raises_of_a_damaged_answer_is_told(error: Exception) -> None:
    with (
        pytest.raises(DecodeError, match=r"h:27017, asking: the answer cannot be understood: \w+"),
        driver_errors(_config(), "asking"),
    ):
        raise error
    with pytest.raises(SourceError), driver_errors(_config(), "asking"):
        raise SourceError("as it is")
