"""Exactly-once to Kafka on Spark: the driver commits each batch as one transaction, with the batch's number."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cdckit.api.messages import Messages
from cdckit.api.record import Offset
from cdckit.api.sink import Sink, SinkContext
from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.store import kept_records
from cdckit.engine.runners.sink_offset import Batch, SinkOffset
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.spark.packets import message_packets
from cdckit.engine.spark.writer import SinkWriter, send_all
from cdckit.errors import RetriableSinkError, SinkError
from kafka.reading import read_topic
from spark.script import Script
from testkit.servers.kafka import KafkaBroker

_ONCE: dict[str, Any] = {"delivery_guarantee": "exactly-once", "topic_creation_default_replication_factor": 1}


def exactly(script: Script, state: Path, broker: KafkaBroker, name: str, **options: Any) -> ResolvedPipeline:
    """A pipeline whose producer and place have a test's own names."""
    given = {**_ONCE, "transactional_id": name, "offset_topic": f"offsets-{name}", **options}
    return script.pipeline(state, "kafka", bootstrap_servers=broker.bootstrap, **given)


def committed(broker: KafkaBroker, table: str) -> list[tuple[int, str]]:
    """Ids and names that readers of committed records see."""
    rows = [json.loads(record.value or b"")["after"] for record in read_topic(broker.bootstrap, f"script.shop.{table}")]
    return [(row["id"], row["name"]) for row in rows]


def place(broker: KafkaBroker, name: str) -> dict[str, Any]:
    """What the offset's topic says."""
    found: dict[str, Any] = json.loads(read_topic(broker.bootstrap, f"offsets-{name}")[-1].value or b"")["place"]
    return found


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_another_checkpoint_behind_a_commit_repeats_nothing(
    kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    """The driver dies behind its commit, before Spark notes the batch: the sink has the offset to go on from."""
    pipeline = exactly(script, tmp_path / "state", kafka_broker, unique_name)
    pipeline = replace(pipeline, checkpoint=str(tmp_path / "a"))
    script.change("c", {"id": 1, "name": "x"}, table=unique_name)
    done = SinkOffset.commit

    def dies(kept: SinkOffset, offset: Offset, batch: Batch | None = None) -> None:
        done(kept, offset, batch)
        raise SinkError("died")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(SinkError, match="died"):
        patch.setattr(SinkOffset, "commit", dies)
        patch.setattr(SparkRunner, "_take_back", lambda *_: None)
        SparkRunner(pipeline).run(once=True)
    script.change("c", {"id": 2, "name": "y"}, table=unique_name)
    SparkRunner(replace(pipeline, checkpoint=str(tmp_path / "b"))).run(once=True)
    assert committed(kafka_broker, unique_name) == [(1, "x"), (2, "y")]


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_each_change_is_seen_once_and_in_order_whatever_is_repeated(
    kafka_broker: KafkaBroker,
    script: Script,
    tmp_path: Path,
    unique_name: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A commit whose answer is lost, a driver that dies behind its last commit, a state that is lost."""
    keys, rounds, state = 5, 40, tmp_path / "state"
    expected: dict[int, list[str]] = defaultdict(list)

    def more() -> None:
        for number in range(keys * rounds):
            expected[number % keys].append(str(len(expected[number % keys])))
            script.change("u", {"id": number % keys, "name": expected[number % keys][-1]}, table=unique_name)

    def assert_seen() -> None:
        found: dict[int, list[str]] = defaultdict(list)
        for key, name in committed(kafka_broker, unique_name):
            found[key].append(name)
        assert found == expected

    pipeline = exactly(
        script, state, kafka_broker, unique_name, cut_at=120, waited_for=True, topic_creation_default_partitions=3
    )
    more()
    plain = SinkOffset.commit
    lost: list[Any] = []

    def commit(self: SinkOffset, offset: Any, batch: Any = None) -> None:
        plain(self, offset, batch)
        if not lost:
            lost.append(batch)
            raise RetriableSinkError("the answer was lost")

    monkeypatch.setattr(SinkOffset, "commit", commit)
    monkeypatch.setattr(SparkRunner, "_take_back", lambda *_: None)  # as if it were killed
    with caplog.at_level("INFO", "cdckit.runner"):
        SparkRunner(pipeline).run(once=True)
    assert "batch 0 is in the sink already" in caplog.text
    assert_seen()
    (checkpoint,) = (state / "spark").iterdir()
    batches = sorted(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal())
    assert place(kafka_broker, unique_name)["batch"] == [checkpoint.name, batches[-1]]

    (checkpoint / "commits" / str(batches[-1])).unlink()
    (checkpoint / "commits" / f".{batches[-1]}.crc").unlink()
    more()
    with caplog.at_level("INFO", "cdckit.runner"):
        SparkRunner(pipeline).run(once=True)
    assert "going on from the offset that the sink has, {'line': 200}; the state had {'line': " in caplog.text
    assert_seen()

    shutil.rmtree(state)
    more()
    SparkRunner(pipeline).run(once=True)
    assert_seen()


@pytest.mark.spark
@pytest.mark.usefixtures("session")
def test_what_the_broker_refuses_is_kept_before_the_rest_of_its_batch_is_committed(
    kafka_broker: KafkaBroker, script: Script, tmp_path: Path, unique_name: str
) -> None:
    kafka_broker.create_topic(f"script.shop.{unique_name}", max_message_bytes=1_200)
    for number in range(4):
        script.change("c", {"id": number, "name": "1" * (1_500 if number == 1 else 1)}, table=unique_name)
    handling = ErrorHandling("quarantine", folder=tmp_path / "quarantine")
    pipeline = exactly(script, tmp_path / "state", kafka_broker, unique_name, waited_for=True, kafka_batch_size=1_200)
    SparkRunner(replace(pipeline, errors=handling)).run(once=True)
    assert [key for key, _ in committed(kafka_broker, unique_name)] == [0, 2, 3]
    (kept,) = kept_records(tmp_path / "quarantine")
    assert (kept.stage, kept.by) == ("write", "kafka")


class Written(Sink):
    """Keeps what is written."""

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []

    def open(self, context: SinkContext) -> None: ...

    def write(self, messages: Messages) -> None:
        if messages.keys == [b"refused"]:
            raise SinkError("refused")
        self.keys += messages.keys

    def flush(self) -> None: ...

    def close(self) -> None: ...


def packets(*keys: bytes) -> Iterator[pa.RecordBatch]:
    """A packet for each key."""
    for key in keys:
        one = Messages(["t"], [None], [key], [b"v"], [()], [key.decode()], [None])
        yield message_packets(one, 1).select(["data"])


@pytest.fixture
def sink() -> Written:
    return Written()


@pytest.fixture
def writer(sink: Written) -> Iterator[SinkWriter]:
    writer = SinkWriter(sink, None, position_header=True, begun=sink.keys.clear)
    yield writer
    writer.close()


def test_a_writer_is_closed_while_its_listener_is_between_two_callers(
    sink: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, listener = SinkWriter(sink, None, position_header=True), threading.Event()

    class Late(threading.Thread):
        """The listener goes on, to the next caller, when the writer was told to close."""

        def start(self) -> None:
            super().start()
            listener.wait()

    monkeypatch.setattr(threading, "Thread", Late)
    send_all(writer.address, writer.expect(), packets(b"1"))
    monkeypatch.undo()
    closing = threading.Thread(target=writer.close, daemon=True)
    closing.start()
    time.sleep(0.2)
    listener.set()
    closing.join(30)
    assert not closing.is_alive()
    assert sink.keys == [b"1"]


def broken_off(*keys: bytes) -> Iterator[pa.RecordBatch]:
    """The packets of a task that dies."""
    yield from packets(*keys)
    raise ZeroDivisionError


def test_of_several_attempts_at_a_sending_the_last_counts(sink: Written, writer: SinkWriter) -> None:
    ticket = writer.expect()
    with pytest.raises(ZeroDivisionError):
        send_all(writer.address, ticket, broken_off(b"1", b"2"))
    send_all(writer.address, ticket, packets(b"1", b"2", b"3"))
    assert sink.keys == [b"1", b"2", b"3"]
    send_all(writer.address, ticket, packets(b"1", b"2", b"3"))  # whose answer the driver never had
    assert sink.keys == [b"1", b"2", b"3"]


def test_a_task_that_was_given_up_writes_nothing_more(sink: Written, writer: SinkWriter) -> None:
    older = writer.expect()

    def overtaken() -> Iterator[pa.RecordBatch]:
        yield from packets(b"1")
        send_all(writer.address, older, packets(b"again"))
        yield from packets(b"2")

    with pytest.raises(SinkError, match="has gone away"):
        send_all(writer.address, older, overtaken())
    assert sink.keys == [b"again"]
    newer = writer.expect()
    with pytest.raises(SinkError, match="has gone away"):
        send_all(writer.address, older, packets(b"1"))
    send_all(writer.address, newer, packets(b"3"))
    assert sink.keys == [b"3"]
    with pytest.raises(SinkError, match="has gone away"):
        send_all(writer.address, writer.expect(), packets(b"refused"))
    assert str(writer.fault) == "refused"
    writer.expect()
    assert writer.fault is None
