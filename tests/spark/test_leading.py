"""The first split of a batch for Kafka: its reader writes it, and another attempt at it hands its messages on."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from cdckit.api.source import Split
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.leading import ASKED, Leaders, leads
from cdckit.engine.spark.notices import ProcessNotices
from cdckit.engine.spark.packets import messages_of
from cdckit.engine.spark.partitions import partitions_of, read_partition
from cdckit.engine.spark.relay import Relay
from cdckit.engine.spark.task_delivery import share_writer
from cdckit.engine.spark.task_sink import TaskSink
from kafka.reading import read_topic
from spark.script import Script
from testkit.servers.kafka import KafkaBroker

SPLITS = [Split({"line": 0}, {"line": 3}), Split({"line": 3}, {"line": 6})]


@pytest.fixture
def relay() -> Iterator[Relay]:
    """The driver, as tasks ask it; whoever asks sends its log there from then on, here to itself."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    relay = Relay(ProcessNotices(), {ASKED: Leaders().may_write})
    yield relay
    relay.close()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_all_of_the_first_split_is_written_before_all_others(
    kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    count = 4000
    for number in range(count):
        script.change("u", {"id": number % 50, "name": str(number)}, table=unique_name)
    pipeline = script.pipeline(
        tmp_path / "state", "kafka", bootstrap_servers=kafka_broker.bootstrap, topic_creation_default_partitions=1
    )
    SparkRunner(pipeline).run(once=True)
    records = read_topic(kafka_broker.bootstrap, f"script.shop.{unique_name}")
    names = [int(json.loads(record.value or b"")["after"]["name"]) for record in records]
    assert sorted(names) == [*range(count)]
    assert names[: count // 2] == [*range(count // 2)]
    assert names != [*range(count)], "the others are written by several tasks"
    assert all(of_key == sorted(of_key) for of_key in ([n for n in names if n % 50 == key] for key in range(50)))


def test_one_attempt_writes_the_first_split_and_another_hands_it_on(
    script: Script, tmp_path: Path, relay: Relay
) -> None:
    """As where a task is repeated, or the files are lost that the others have handed on."""
    for number in range(6):
        script.change("u", {"id": number, "name": str(number)})
    out = tmp_path / "out.jsonl"
    pipeline = script.pipeline(tmp_path / "state", "file", path=str(out))
    sink = TaskSink(pipeline, None, once=True)
    job = Job(pipeline, "packed messages", task_sink=sink, relay=relay.address, log_level=logging.CRITICAL)
    first, second = partitions_of(SPLITS, 2)
    handed_on = [*read_partition(job, first)]
    assert _told(handed_on) == (3, [])
    assert _written(out) == [0, 1, 2]
    assert _told(read_partition(job, first)) == (3, [0, 1, 2])
    handed_on += read_partition(job, second)
    assert _told(handed_on) == (6, [3, 4, 5])
    assert _written(out) == [0, 1, 2], "the others wait until all splits are read"
    columns = (batch.select(["rows", "data"]) for batch in handed_on)
    [counted] = share_writer(sink)(columns)
    assert counted.to_pydict() == {"rows": [6]}
    assert sorted(_written(out)) == [*range(6)]
    assert _told(read_partition(job, partitions_of(SPLITS, 2)[0])) == (3, []), "another batch"


def _written(out: Path) -> list[int]:
    """The ids of the rows in a file."""
    return [json.loads(line)["key"]["id"] for line in out.read_text().splitlines()]


def _told(batches: Iterable[pa.RecordBatch]) -> tuple[int, list[int]]:
    """How many rows batches tell of, and the ids of those messages that are in them."""
    rows, ids = 0, []
    for batch in batches:
        rows += sum(batch.column("rows").to_pylist())
        for data in filter(None, batch.column("data").to_pylist()):
            ids += [json.loads(key or b"")["id"] for key in messages_of(data).keys]
    return rows, sorted(ids)


def test_what_a_driver_on_another_machine_cannot_allow_is_handed_on(script: Script, tmp_path: Path) -> None:
    for number in range(6):
        script.change("u", {"id": number, "name": str(number)})
    pipeline = script.pipeline(tmp_path / "state", "kafka", bootstrap_servers="127.0.0.1:9")
    job = Job(pipeline, "packed messages", task_sink=TaskSink(pipeline, None, once=True), relay=str(tmp_path / "none"))
    assert _told(read_partition(job, partitions_of(SPLITS, 2)[0])) == (3, [0, 1, 2])


@pytest.mark.parametrize(
    "splits",
    [
        SPLITS[:1],
        [Split({"line": 0}, {"line": 6}, "a group of tables"), Split({"line": 0}, {"line": 6}, "another")],
        [Split({"line": 0}, {"line": 0}, "a chunk"), Split({"line": 0}, {"line": 0}, "another")],
        [Split({"line": 0}, None), Split({"line": 3}, {"line": 6})],
    ],
)
def test_splits_that_do_not_follow_each_other_have_no_first(splits: list[Split]) -> None:
    assert not leads(splits)
    assert not any(partition.leads for partition in partitions_of(splits, 2))


def test_no_share_of_the_keys_no_first() -> None:
    assert leads(SPLITS)
    assert not any(partition.leads for partition in partitions_of(SPLITS, 0))
    assert not any(partition.leads for partition in partitions_of(SPLITS, 2, in_order=True))


def test_batches_of_long_ago_are_forgotten() -> None:
    leaders = Leaders()
    assert [leaders.may_write(str(number % 2000)) for number in range(2001)] == [True] * 2001
    assert not leaders.may_write("1999")
