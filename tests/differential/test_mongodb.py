"""Random documents and changes of them, captured by this project and by a live Debezium: every event is equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

import pytest

from differential.both import AT_ONCE, assert_equal, run_both
from differential.debezium import libraries
from differential.document_workload import DocumentWorkload
from servers.mongodb import MongoReplicaSet

DOCUMENTS, STEPS = 12, 150

CHOICES = {
    "capture.mode": (
        "change_streams",
        "change_streams_with_pre_image",
        "change_streams_update_full",
        "change_streams_update_full_with_pre_image",
    ),
    "capture.scope": ("deployment", "database"),
    "tombstones.on.delete": ("true", "false"),
    "provide.transaction.metadata": ("false", "true"),
    "schema.name.adjustment.mode": ("none", "avro"),
    "skipped.operations": ("t", "none", "d"),
    "field.exclude.list": ("", "*.c1.c,*.c2.c"),
    "field.renames": ("", "*.c1.n:number,*.c2.b:renamed,*.c3.sub.deep.b:renamed"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Three workloads, or twenty by night."""
    metafunc.parametrize("seed", range(20 if metafunc.config.getoption("--nightly") else 3))


@pytest.fixture(scope="module")
def captured(mongo: MongoReplicaSet, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Gives the folder with the events of both systems for a seed."""
    if libraries() is None:
        pytest.skip("Debezium's jars are missing: pip install 'cdckit[peer]'")

    @cache
    def capture(group: int) -> Path:
        folder = tmp_path_factory.mktemp("differential")
        workloads = []
        with mongo.client() as client:
            for seed in range(group * AT_ONCE, (group + 1) * AT_ONCE):
                client.drop_database(_database(seed))
                workloads.append(DocumentWorkload(seed, client[_database(seed)]))
                workloads[-1].set_up(DOCUMENTS)
                (folder / f"{seed}.properties").write_text(_options(mongo, seed))
            run_both(folder, workloads, STEPS)
        return folder

    return lambda seed: capture(seed // AT_ONCE)


def _database(seed: int) -> str:
    return f"differential_{seed}"


def _options(mongo: MongoReplicaSet, seed: int) -> str:
    random = Random(seed)
    options = {
        "name": f"engine-{seed}",
        "connector.class": "io.debezium.connector.mongodb.MongoDbConnector",
        "topic.prefix": f"g{seed}",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": _database(seed),
        "capture.target": _database(seed),
        "capture.mode.full.update.type": "post_image",  # what is looked up depends on when
        "errors.max.retries": 0,
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        **{name: random.choice(values) for name, values in CHOICES.items()},
    }
    return "".join(f"{name}={value}\n" for name, value in options.items() if value != "")


def test_every_event_is_equal(captured: Callable[[int], Path], seed: int) -> None:
    assert_equal(captured(seed), seed, more_than=DOCUMENTS)
