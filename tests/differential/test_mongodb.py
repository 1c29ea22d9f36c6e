"""Random documents and changes of them, captured by this project and by a live Debezium: every event is equal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random

import pytest

from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from differential.both import AT_ONCE, assert_equal, run_both
from differential.debezium import libraries
from differential.document_workload import DocumentWorkload
from mongodb.capture import Capture
from mysql.recordings import HEARTBEATS, Event, by_topic, read_events
from testkit.servers.mongodb import MongoReplicaSet

DOCUMENTS, STEPS = 12, 150

Options = dict[str, str]

CHOICES = {
    "capture.mode": (
        "change_streams",
        "change_streams_with_pre_image",
        "change_streams_update_full",
        "change_streams_update_full_with_pre_image",
    ),
    "capture.mode.full.update.type": ("lookup", "post_image"),
    "capture.scope": ("deployment", "database", "collection"),
    "converter.schemas.enable": ("true", "false"),
    "extended.headers.enabled": ("true", "false"),
    "tombstones.on.delete": ("true", "false"),
    "provide.transaction.metadata": ("true", "false"),
    "schema.name.adjustment.mode": ("none", "avro"),
    "skipped.operations": ("t", "none", "d", "u"),
    "heartbeat.interval.ms": ("0", "1"),
}
NESTED: tuple[Options, ...] = (
    {"field.exclude.list": "*.c1.sub.a,*.C*.b,*.c3.sub.deep.b"},
    {"field.renames": "*.c1.n:number,*.c2.b:renamed,*.c3.sub.deep.b:renamed,*.c1.a:first"},
    {"field.renames": "*.c1.list:items,*.c1.long:row,*.c2.docs.k:number,*.c3.sub:part"},
    {
        "field.exclude.list": "*.c2.sub.a,*.*.c,*.c1.sub.deep.b",
        "field.renames": "*.c1.sub.deep:deeper,*.c2.list:items,*.c3.long:row",
    },
)
FIELDS: tuple[Options, ...] = (
    {},
    {"field.exclude.list": "*.c1.c,*.c2.c", "field.renames": "*.c1.n:number,*.c2.b:renamed"},
    {"field.renames": "*.c*.n:number,*.c1.list:items,*.c2.long:row"},
    *NESTED,
)
PIPELINES: tuple[Options, ...] = (
    {},
    {},
    {"cursor.pipeline": '[{"$match": {"operationType": {"$ne": "delete"}}}]'},
    {
        "cursor.pipeline": '[{"$match": {"fullDocument.n": {"$not": {"$gt": 100}}}}]',
        "cursor.pipeline.order": "internal_first",
    },
    {
        "cursor.pipeline": '[{"$match": {"documentKey._id": {"$type": ["string", "int", "objectId", "date"]}}}]',
        "cursor.pipeline.order": "user_first",
    },
    {
        "cursor.pipeline": '[{"$match": {"operationType": {"$in": ["insert", "update", "replace", "delete"]}}}]',
        "cursor.pipeline.order": "user_only",
    },
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Three workloads, or twenty by night."""
    metafunc.parametrize("seed", range(20 if metafunc.config.getoption("--nightly") else 3))


@pytest.fixture(scope="module")
def captured(mongo: MongoReplicaSet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], Path]]:
    """Gives the folder with the events of both systems for a seed."""
    if libraries() is None:
        pytest.skip("Debezium's jars are missing: pip install 'cdckit[peer]'")

    databases = ExitStack()

    @cache
    def capture(group: int) -> Path:
        folder = tmp_path_factory.mktemp("differential")
        workloads, seeds = [], range(group * AT_ONCE, (group + 1) * AT_ONCE)
        with mongo.client() as client:
            for seed in seeds:
                databases.callback(mongo.drop_database, _database(seed))
                options = chosen(seed)
                last = "c1" if options["capture.scope"] == "collection" else "marker"
                workloads.append(DocumentWorkload(seed, client[_database(seed)], last))
                workloads[-1].set_up(DOCUMENTS)
                options = options | _of_the_engine(mongo, folder, seed, options)
                (folder / f"{seed}.properties").write_text(_properties(options), encoding="utf-8")
            run_both(folder, workloads, STEPS)
        return folder

    with databases:
        yield lambda seed: capture(seed // AT_ONCE)


def _database(seed: int) -> str:
    return f"differential_{seed}"


def chosen(seed: int) -> Options:
    """The options that differ from seed to seed."""
    random = Random(f"options {seed}")
    options = {name: random.choice(values) for name, values in CHOICES.items()}
    database = _database(seed)
    targets = {"deployment": "", "database": database, "collection": f"{database}.c1"}
    options["capture.target"] = targets[options["capture.scope"]]
    options |= random.choice(FIELDS)
    options |= random.choice([pipeline for pipeline in PIPELINES if _fits(pipeline, options)])
    return options | random.choice(_lists(database, options))


def _fits(pipeline: Options, options: Options) -> bool:
    """Whether nothing of other databases would come: they have their own workloads at the same time."""
    return pipeline.get("cursor.pipeline.order") != "user_only" or options["capture.scope"] != "deployment"


def _lists(database: str, options: Options) -> list[Options]:
    """What says which collections are captured."""
    whole = {"database.include.list": database}
    literal = {"filters.match.mode": "literal", "database.include.list": database}
    if options["capture.scope"] == "collection":
        return [whole, literal]
    return [
        whole,
        {"collection.include.list": rf"{database}\.c[12], {database}\.(marker|with space)"},
        {**whole, "collection.exclude.list": rf".*\.c3,{database}\.C2"},
        {**literal, "collection.include.list": f"{database}.c1,{database}.marker, {database}.with space"},
        {**literal, "collection.exclude.list": f"{database}.c1,{database}.with space"},
    ]


def _of_the_engine(mongo: MongoReplicaSet, folder: Path, seed: int, options: Options) -> Options:
    """The options that a capture must have.

    What is looked up depends on when, unless everything has changed before: that engine stops meanwhile.
    """
    offsets = {"offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore"}
    if options["capture.mode.full.update.type"] == "lookup" and "update_full" in options["capture.mode"]:
        offsets = {
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": str(folder / f"{seed}.offsets"),
            "offset.flush.interval.ms": "0",
        }
    return {
        "name": f"engine-{seed}",
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "topic.prefix": f"g{seed}",
        "mongodb.connection.string": mongo.uri,
        "errors.max.retries": "0",
        **offsets,
    }


def _properties(options: Options) -> str:
    lines = (f"{name}={value}\n".replace("\\", "\\\\") for name, value in options.items() if value != "")
    return "".join(lines)


def test_every_event_is_equal(captured: Callable[[int], Path], seed: int) -> None:
    nested = any(fields.items() <= chosen(seed).items() for fields in NESTED)
    assert_equal(captured(seed), seed, DOCUMENTS, _without_removed_fields if nested else lambda events: events)


def _without_removed_fields(events: Iterable[Event]) -> Iterator[Event]:
    """Debezium hides fields around an excluded one, shows those inside, and there keeps a renamed one's old name."""
    for event in events:
        payload = event["value"] and event["value"].get("payload", event["value"])
        if payload and payload.get("updateDescription"):
            payload["updateDescription"]["removedFields"] = None
        yield event


def test_heartbeats_are_equal(captured: Callable[[int], Path], seed: int, mongo: MongoReplicaSet) -> None:
    """They come where a stream is followed, which `assert_equal` does not do here."""
    options = chosen(seed)
    events = read_events(captured(seed) / f"{seed}.peer.jsonl")
    expected = by_topic(event for event in events if event["topic"].startswith(HEARTBEATS))
    if options["heartbeat.interval.ms"] == "0":
        assert not expected
        return
    own = {"topic.prefix": f"g{seed}", "heartbeat.interval.ms": 1, "database.include.list": "none"}
    capture = Capture(mongo.uri, **own)
    capture.follow(until=lambda: bool(capture.records))
    json_options = {"schemas.enable": options["converter.schemas.enable"] == "true"}
    messages = JsonSerializer(JsonConfig.model_validate(json_options)).serialize(capture.records)
    found = {"topic": messages.topics[0], "headers": []}
    found |= {"key": json.loads(messages.keys[0] or b""), "value": json.loads(messages.values[0] or b"")}
    assert by_topic([found]) == expected
