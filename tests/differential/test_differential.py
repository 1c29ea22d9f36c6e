"""Random workloads, captured by this project and by a live Debezium: every event is equal."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from cdckit.config.loading import load_pipeline
from cdckit.runners.direct import DirectRunner
from differential.debezium import libraries
from differential.workload import Workload
from mysql.recordings import Event, by_topic, read_events
from servers.java import ensure_java
from servers.mysql_family import SQLServer
from servers.process import end, spawn, tail

PROGRAM = Path(__file__).parent / "debezium.py"
SECONDS = 120
ROWS, STEPS = 8, 60
AT_ONCE = 3
"""So many captures does the peer take at a time."""

CHOICES = {
    "decimal.handling.mode": ("precise", "string", "double"),
    "time.precision.mode": ("adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"),
    "bigint.unsigned.handling.mode": ("long", "precise"),
    "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "tombstones.on.delete": ("true", "false"),
    "column.propagate.source.type": ("", ".*"),
    "skipped.operations": ("t", "none"),
    "provide.transaction.metadata": ("false", "true"),
    "include.query": ("false", "true"),
    "schema.name.adjustment.mode": ("none", "avro"),
    "field.name.adjustment.mode": ("none", "avro"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Three workloads, or twenty by night."""
    metafunc.parametrize("seed", range(20 if metafunc.config.getoption("--nightly") else 3))


@pytest.fixture(scope="module")
def captured(mysql_server: SQLServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Gives the folder with the events of both systems for a seed: `SEED.own.jsonl` and `SEED.peer.jsonl`."""
    if libraries() is None:
        pytest.skip("Debezium's jars are missing: pip install 'cdckit[peer]'")

    @cache
    def capture(group: int) -> Path:
        folder = tmp_path_factory.mktemp("differential")
        with ExitStack() as stack:
            workloads = []
            for seed in range(group * AT_ONCE, (group + 1) * AT_ONCE):
                (folder / f"{seed}.properties").write_text(_options(mysql_server, folder, seed))
                workloads.append(Workload(seed, stack.enter_context(_database(mysql_server, seed))))
                workloads[-1].set_up(ROWS)
            _run_both(folder, workloads)
        return folder

    return lambda seed: capture(seed // AT_ONCE)


def _run_both(folder: Path, workloads: Sequence[Workload]) -> None:
    """Both take their snapshots, and then read what has changed."""
    log = folder / "peer.log"
    peer = spawn([sys.executable, PROGRAM, folder], log, env={"JAVA_HOME": str(ensure_java().resolve().parents[1])})
    try:
        _capture(folder)
        _wait_for(peer, log, lambda: log.read_text().count("\nsnapshot of ") == len(workloads))
        for workload in workloads:
            workload.change(STEPS)
            workload.end()
        _capture(folder)
        _wait_for(peer, log, lambda: peer.poll() is not None)
        assert peer.returncode == 0, tail(log)
    finally:
        end(peer, grace=1)


def _wait_for(peer: subprocess.Popen[bytes], log: Path, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert not peer.poll(), tail(log)
        assert time.monotonic() < deadline, tail(log)
        time.sleep(0.1)


@contextmanager
def _database(server: SQLServer, seed: int) -> Iterator[Connection[Cursor]]:
    name = f"differential_{seed}"
    server.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    try:
        with closing(server.connect(database=name)) as connection:
            yield connection
    finally:
        server.execute(f"DROP DATABASE {name}")


def _options(server: SQLServer, folder: Path, seed: int) -> str:
    random = Random(seed)
    options = {
        "name": f"engine-{seed}",
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "topic.prefix": f"g{seed}",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": 700_000 + seed,
        "database.include.list": f"differential_{seed}",
        "driver.allowPublicKeyRetrieval": "true",
        "include.schema.changes": "true",
        "errors.max.retries": 0,
        "schema.history.internal.store.only.captured.databases.ddl": "true",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / f"{seed}.history",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        **{name: random.choice(values) for name, values in CHOICES.items()},
    }
    return "".join(f"{name}={value}\n" for name, value in options.items())


def _capture(folder: Path) -> None:
    """Reads each database as far as it goes."""
    for configuration in folder.glob("*.properties"):
        output = configuration.with_suffix(".own.jsonl")
        number = 800_000 + int(configuration.stem)
        state = configuration.with_suffix(".state")
        overrides = [f"sink.path={output}", f"state={state}", f"source.database.server.id={number}"]
        DirectRunner(load_pipeline(configuration, overrides, runner="direct", sink="file")).run(once=True)


def test_every_event_is_equal(captured: Callable[[int], Path], seed: int) -> None:
    folder = captured(seed)
    expected = by_topic(map(_plain, read_events(folder / f"{seed}.peer.jsonl")))
    found = by_topic(map(_plain, read_events(folder / f"{seed}.own.jsonl")))
    assert sorted(found) == sorted(expected)
    assert sum(map(len, expected.values())) > ROWS
    for topic, events in expected.items():
        for number, (one, other) in enumerate(_pairs(topic, events, found[topic]), 1):
            different = list(differences(json.loads(one), json.loads(other)))
            assert not different, f"{topic}, event {number}:\n" + "\n".join(different[:20])


def _pairs(topic: str, expected: list[str], found: list[str]) -> Iterator[tuple[str, str]]:
    """The events of a topic side by side; the peer ends with its last row, others' transactions may follow."""
    if topic.endswith(".transaction"):
        return zip(expected, found, strict=False)
    return zip_longest(expected, found, fillvalue="null")


def _plain(event: Event) -> Event:
    """An event without what is meant to differ.

    A truncation or another statement has no row; Debezium shows the number of the last row before it. The tables of a
    transaction stand in the order of their first events; Debezium's order is that of a Java HashMap.
    """
    payload = event["value"] and event["value"]["payload"]
    if payload and (payload.get("op") == "t" or "tableChanges" in payload):
        payload["source"]["row"] = 0
    if payload and payload.get("data_collections"):
        payload["data_collections"].sort(key=itemgetter("data_collection"))
    return event


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """What is not equal in two JSON values, the order of members included, a line each."""
    if isinstance(expected, dict) and isinstance(found, dict) and list(expected) == list(found):
        for name, member in expected.items():
            yield from differences(member, found[name], f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif expected != found and not _same_float(expected, found):
        yield f"{path}: Debezium has {json.dumps(expected)}, found {json.dumps(found)}"


def _same_float(one: Any, other: Any) -> bool:
    """Java prints more digits of a FLOAT than it takes, before its version 19."""
    return isinstance(one, float) and isinstance(other, float) and struct.pack("<f", one) == struct.pack("<f", other)
