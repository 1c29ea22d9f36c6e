"""Sinks that cannot be reached or written: exit code 4, or waiting for as long as it takes."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import pytest

from bad_input.conftest import NewPipeline
from kafka.reading import read_topic
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer
from testkit.servers.ports import free_port

ROWS = 2000


@pytest.fixture
def db_server(mysql_server: SQLServer) -> SQLServer:
    """One server is enough here."""
    return mysql_server


@pytest.mark.parametrize("path", ["missing/out.jsonl", "."])
def test_a_path_that_cannot_be_written_is_named(pipeline: NewPipeline, tmp_path: Path, path: str) -> None:
    made = to_file(tmp_path, pipeline().source)
    broken = Pipeline(tmp_path, made.source, {"type": "file", "path": str(tmp_path / path)}, made.others)
    ended = broken.run("--once")
    assert ended.code == 4
    assert f"sink.path {tmp_path / path}: " in ended.errors
    assert "name a file in a folder that exists and can be written" in ended.errors
    assert broken.offset() is None


def test_a_full_disk_leaves_whole_lines_and_the_next_start_goes_on(
    db_server: SQLServer, shop: str, pipeline: NewPipeline
) -> None:
    values = ", ".join(f"({number}, '{'x' * 20}')" for number in range(10, 10 + ROWS))
    made = pipeline()
    assert made.run("--once").code == 0
    db_server.execute(f"INSERT INTO t VALUES {values}", database=shop)
    with made.running("--once", limit=_little_room) as process:
        ended = process.ended()
    assert ended.code == 4, ended.stderr
    assert f"sink.path {made.output}: " in ended.errors
    assert "make room, then start again: nothing is lost" in ended.errors
    content = made.output.read_bytes()
    assert content.endswith(b"\n")
    assert len(content.splitlines()) > 2
    assert made.run("--once").code == 0
    keys = [json.loads(line)["key"]["id"] for line in made.output.read_bytes().splitlines()[2:]]
    assert sorted(set(keys)) == list(range(10, 10 + ROWS))


def _little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def test_once_gives_up_on_a_broker_that_does_not_answer(pipeline: NewPipeline, tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    sink = {"type": "kafka", "bootstrap.servers": address, "timeout": 1}
    broken = Pipeline(tmp_path, pipeline().source, sink)
    ended = broken.run("--once")
    assert ended.code == 4
    assert f"gave up waiting for a Kafka broker to answer ({address})" in ended.errors
    assert broken.offset() is None


@pytest.mark.nightly
def test_a_broker_that_is_away_is_waited_for(db_server: SQLServer, shop: str, tmp_path: Path) -> None:
    create_reader(db_server)
    with KafkaBroker() as broker:
        broker.stop()
        sink = {"type": "kafka", "bootstrap.servers": broker.bootstrap}
        source = source_of(db_server, shop, topic_prefix=shop)
        made = Pipeline(tmp_path, source, sink, {"serializer": {"schemas.enable": False}})
        with made.running() as process:
            process.wait_for("waiting for a Kafka broker to answer")
            broker.start()
            process.wait_for("Kafka answers again")
            process.wait_until(lambda: len(_read(broker, shop)) == 2, "the snapshot")
            broker.stop()
            db_server.execute("INSERT INTO t VALUES (3, 'c')", database=shop)
            process.wait_for("waiting for Kafka to acknowledge records")
            broker.start()
            process.wait_for("Kafka answers again", times=2)
            process.wait_until(lambda: len(_read(broker, shop)) == 3, "the change")
            assert process.stop().code == 0
        assert _read(broker, shop) == [("r", 1), ("r", 2), ("c", 3)]


def _read(broker: KafkaBroker, shop: str) -> list[tuple[str, int]]:
    topic = f"{shop}.{shop}.t"
    if topic not in broker.topics():
        return []
    found = [json.loads(record.value or b"") for record in read_topic(broker.bootstrap, topic)]
    return [(value["op"], value["after"]["id"]) for value in found]


def test_a_device_without_room_is_named(pipeline: NewPipeline, tmp_path: Path) -> None:
    made = Pipeline(tmp_path, pipeline().source, {"type": "file", "path": "/dev/full"})
    ended = made.run("--once")
    assert ended.code == 4
    assert "sink.path /dev/full: No space left on device" in ended.errors
    assert (made.offset() or {})["snapshot"] == "INITIAL"
