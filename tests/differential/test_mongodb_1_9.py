"""Random documents and changes of them, captured with `event.format: "1.9"` and by a live Debezium 1.9.7."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from random import Random

import pytest

from differential.both import AT_ONCE, assert_equal, run_both
from differential.document_workload import DocumentWorkload
from differential.documents import KEYS_WITHOUT_CODE
from mysql.recordings import Event
from testkit.servers.cache import cached
from testkit.servers.java import fetch_jars
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = pytest.mark.nightly

DOCUMENTS, STEPS = 12, 150

JARS = ("io.debezium:debezium-embedded:1.9.7.Final", "io.debezium:debezium-connector-mongodb:1.9.7.Final")
CHOICES = {
    "capture.mode": ("change_streams", "change_streams_update_full"),
    "converter.schemas.enable": ("true", "false"),
    "tombstones.on.delete": ("true", "false"),
    "provide.transaction.metadata": ("true", "false"),
    "schema.name.adjustment.mode": ("", "none"),
    "skipped.operations": ("", "d", "u"),
    "field.exclude.list": ("", "*.c1.c"),  # that version stops at several that end alike
    "field.renames": ("", "*.c1.n:number"),
}


@pytest.fixture(scope="module")
def captured(mongo: MongoReplicaSet, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Gives the folder with the events of both systems for a seed."""
    jars = cached("debezium-mongodb-1.9.7", lambda folder: fetch_jars(JARS, folder))

    @cache
    def capture(group: int) -> Path:
        folder = tmp_path_factory.mktemp("differential")
        workloads = []
        with mongo.client() as client:
            for seed in range(group * AT_ONCE, (group + 1) * AT_ONCE):
                client.drop_database(_database(seed))
                # that version cannot write code inside an `_id`
                workloads.append(DocumentWorkload(seed, client[_database(seed)], keys=KEYS_WITHOUT_CODE))
                workloads[-1].set_up(DOCUMENTS)
                (folder / f"{seed}.properties").write_text(_options(mongo, folder, seed))
            run_both(folder, workloads, STEPS, lambda _: ["source.event.format=1.9"], jars)
        return folder

    return lambda seed: capture(seed // AT_ONCE)


def _database(seed: int) -> str:
    return f"differential_old_{seed}"


def _options(mongo: MongoReplicaSet, folder: Path, seed: int) -> str:
    random = Random(seed)
    database = _database(seed)
    lists = (
        {"database.include.list": database},
        {"collection.include.list": rf"{database}\\.c[12],{database}\\.(marker|with space)"},
        {"database.include.list": database, "collection.exclude.list": r".*\\.c3"},
    )
    options = {
        "name": f"engine-{seed}",
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "mongodb.name": f"g{seed}",
        "mongodb.hosts": f"rs0/{mongo.nodes[0].address}",
        "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
        "offset.storage.file.filename": folder / f"{seed}.offsets",
        "offset.flush.interval.ms": 0,
        **{name: random.choice(values) for name, values in CHOICES.items()},
        **random.choice(lists),
    }
    return "".join(f"{name}={value}\n" for name, value in options.items() if value != "")


@pytest.mark.parametrize("seed", range(12))
def test_every_event_is_equal(captured: Callable[[int], Path], seed: int) -> None:
    assert_equal(captured(seed), seed, DOCUMENTS, _comparable)


def _comparable(events: Iterable[Event]) -> Iterator[Event]:
    """Without what `docs/sources/mongodb.md` says of that format, and without headers, which that engine hides."""
    ended = set()
    for event in events:
        payload = event["value"] and event["value"].get("payload", event["value"])
        if payload and payload.get("status") == "END":
            if payload["id"] in ended:
                continue
            ended.add(payload["id"])
        if payload and "source" in payload:
            in_snapshot = payload["source"]["snapshot"] != "false"
            payload["source"] |= {"stxnid": None, "snapshot": str(in_snapshot)}
        yield {**event, "headers": []}
