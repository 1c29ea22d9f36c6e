"""Messages that jobs of one's own write to Kafka, as Spark has the writers write, without its JVM."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cdckit.api.messages import Messages
from cdckit.api.sink import SinkContext
from cdckit.engine.spark.failures import WorkerError
from cdckit.engine.spark.staged import Share
from cdckit.engine.spark.writers import BatchWriter, StreamWriter
from cdckit.errors import SinkError
from cdckit.spark import CdckitDataSource
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.sink import KafkaSink
from cdckit_kafka.transactions import KafkaTransactions
from kafka.reading import KafkaRecord, read_topic
from spark.test_message_rows import SCHEMA
from spark.written import Values, arrow, message, shares, stream_writer
from testkit.servers.kafka import KafkaBroker

START = datetime(2026, 1, 1, tzinfo=UTC)


def options(broker: KafkaBroker, **more: str) -> dict[str, str]:
    """Of a writer to the broker."""
    return {"sink.bootstrap.servers": broker.bootstrap, **more}


def once(broker: KafkaBroker, name: str) -> dict[str, str]:
    """The same with exactly-once delivery."""
    more = {"sink.delivery.guarantee": "exactly-once", "sink.topic.creation.default.replication.factor": "1"}
    return options(broker, name=name) | more


def row(topic: str, number: int) -> Values:
    """One of many, with all that a message may have."""
    headers = [{"key": "n", "value": b"%d" % number}, {"key": "null", "value": None}]
    moment = START + timedelta(seconds=number)
    value = None if number % 10 == 9 else b"v%d" % number
    return topic, None, b"k%d" % (number % 13), value, headers, moment, f"{number:06d}"


def plain(record: KafkaRecord) -> tuple[Any, ...]:
    return record[1:]


def test_messages_are_those_that_the_sink_writes(kafka_broker: KafkaBroker, unique_name: str) -> None:
    ours, sinks = f"{unique_name}.ours", f"{unique_name}.sink"
    for topic in (ours, sinks):
        kafka_broker.create_topic(topic, 4)
    rows = [row(ours, number) for number in range(200)]
    writer = stream_writer(options(kafka_broker), SCHEMA)
    writer.commit(shares(writer, rows[::3], rows[1::3], rows[2::3]), 0)
    sink = KafkaSink(KafkaSinkConfig.load({"bootstrap.servers": kafka_broker.bootstrap}, "sink")[0])
    sink.open(SinkContext("sink", once=True))
    sink.write(Messages(
        [sinks] * 200, [None] * 200, [one[2] for one in rows], [one[3] for one in rows],
        [tuple((header["key"], header["value"]) for header in one[4]) for one in rows],
        [one[6] for one in rows], [int(one[5].timestamp() * 1000) for one in rows],
    ))  # fmt: skip
    sink.flush()
    sink.close()
    found = [plain(record) for record in read_topic(kafka_broker.bootstrap, ours)]
    assert sorted(found) == sorted(plain(record) for record in read_topic(kafka_broker.bootstrap, sinks))
    assert len({partition for partition, *_ in found}) > 1


def test_topics_are_made_as_the_sinks_options_say(kafka_broker: KafkaBroker, unique_name: str) -> None:
    more = {"sink.topic.creation.default.partitions": "3", "topic": unique_name, "position.header": "false"}
    writer = stream_writer(options(kafka_broker, **more), SCHEMA)
    writer.commit(shares(writer, [row("elsewhere", 1)]), 0)
    (record,) = read_topic(kafka_broker.bootstrap, unique_name)
    assert [name for name, _ in record.headers] == ["n", "null"]
    assert len(kafka_broker.admin().list_topics(unique_name, 30).topics[unique_name].partitions) == 3


def test_each_keys_order_is_the_logs(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, 3)
    writer = stream_writer(options(kafka_broker), SCHEMA)
    numbers = range(5_000)
    parts = [
        [row(unique_name, number) for number in numbers if number % 7 in share]
        for share in ((0, 4), (1,), (2, 3, 5, 6))
    ]
    writer.commit(shares(writer, *parts[:2], [*reversed(parts[2])]), 0)
    found = defaultdict(list)
    for record in read_topic(kafka_broker.bootstrap, unique_name):
        found[record.key].append(int(record.header("n") or b""))
    assert found == {b"k%d" % key: [*range(key, 5_000, 13)] for key in range(13)}


def values(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    """What readers of committed records see."""
    return [record.value for record in read_topic(broker.bootstrap, topic)]


def commit(given: dict[str, str], rows: Sequence[Values], batch: int, query: str = "q") -> None:
    """One batch, by a writer of its own, as Spark makes one for each."""
    writer = stream_writer(given, SCHEMA)
    writer.commit(shares(writer, rows, query=query), batch)


def test_a_batch_that_comes_again_is_there_once(kafka_broker: KafkaBroker, unique_name: str) -> None:
    given = once(kafka_broker, unique_name)
    first, second = [message(unique_name, "k", "1")], [message(unique_name, "k", "2")]
    for rows, batch in ((first, 0), (first, 0), ([], 1), (second, 2), (second, 2), (first, 0)):
        commit(given, rows, batch)
    assert values(kafka_broker, unique_name) == [b"1", b"2"]
    commit(given, first, 0, query="begun anew")
    assert values(kafka_broker, unique_name) == [b"1", b"2", b"1"]


def test_at_least_once_writes_it_again(kafka_broker: KafkaBroker, unique_name: str) -> None:
    for _ in range(2):
        commit(options(kafka_broker), [message(unique_name, "k", "1")], 0)
    assert values(kafka_broker, unique_name) == [b"1", b"1"]


def fails(*_: object) -> None:
    """In the place of a commit."""
    raise SinkError("before the commit")


def test_a_batch_whose_commit_fails_is_seen_by_nobody_and_comes_again(
    kafka_broker: KafkaBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, rows = once(kafka_broker, unique_name), [message(unique_name, "k", str(number)) for number in range(3_000)]
    commit(given, [message(unique_name, "k", "before")], 0)

    with monkeypatch.context() as patched:
        patched.setattr(KafkaTransactions, "commit", fails)
        with pytest.raises(WorkerError, match="before the commit"):
            commit(given, rows, 1)
    assert values(kafka_broker, unique_name) == [b"before"]
    commits = KafkaTransactions.commit

    def unheard(self: KafkaTransactions, place: object) -> None:
        commits(self, place)
        raise SinkError("behind the commit")

    with monkeypatch.context() as patched:
        patched.setattr(KafkaTransactions, "commit", unheard)
        with pytest.raises(WorkerError, match="behind the commit"):
            commit(given, rows, 1)
    commit(given, rows, 1)
    assert values(kafka_broker, unique_name) == [b"before", *(b"%d" % number for number in range(3_000))]


def test_of_two_drivers_the_older_commits_no_more(
    kafka_broker: KafkaBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given, rows, commits = once(kafka_broker, unique_name), [message(unique_name, "k", "1")], KafkaTransactions.commit

    def overtaken(self: KafkaTransactions, place: object) -> None:
        monkeypatch.undo()
        commit(given, rows, 0)
        commits(self, place)

    monkeypatch.setattr(KafkaTransactions, "commit", overtaken)
    with pytest.raises(WorkerError, match=f"another process writes with the transactional id 'cdckit-{unique_name}'"):
        commit(given, rows, 0)
    assert values(kafka_broker, unique_name) == [b"1"]


def test_a_job_does_not_take_a_pipelines_place(kafka_broker: KafkaBroker, unique_name: str) -> None:
    config = {name.removeprefix("sink."): value for name, value in once(kafka_broker, unique_name).items()}
    sink = KafkaSink(KafkaSinkConfig.load({key: config[key] for key in config if key != "name"}, "sink")[0])
    sink.open(SinkContext(unique_name, once=True))
    assert sink.transactions is not None
    sink.transactions.commit({"offset": {"line": 1}})
    sink.close()
    with pytest.raises(WorkerError, match=f"name: the offset topic has the offset of a pipeline '{unique_name}'"):
        commit(once(kafka_broker, unique_name), [message(unique_name, "k", "1")], 0)


def test_a_dataframe_is_written_whole_or_not_at_all(
    kafka_broker: KafkaBroker, unique_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = once(kafka_broker, unique_name)
    commit(given, [message(unique_name, "k", "streamed")], 4)

    def write() -> None:
        writer = CdckitDataSource(given).writer(SCHEMA, overwrite=False)
        assert isinstance(writer, BatchWriter)
        writer.commit([writer.write(arrow([message(unique_name, "k", "batch")]))])

    with monkeypatch.context() as patched:
        patched.setattr(KafkaTransactions, "commit", fails)
        with pytest.raises(WorkerError, match="before the commit"):
            write()
    assert values(kafka_broker, unique_name) == [b"streamed"]
    write()
    write()
    commit(given, [message(unique_name, "k", "streamed")], 4)  # what the stream has done is kept
    assert values(kafka_broker, unique_name) == [b"streamed", b"batch", b"batch"]


def test_tasks_write_their_shares_where_that_is_asked_for(kafka_broker: KafkaBroker, unique_name: str) -> None:
    writer = CdckitDataSource(options(kafka_broker, writer="tasks")).writer(SCHEMA, overwrite=False)
    assert isinstance(writer, BatchWriter)
    made = [writer.write(arrow([row(unique_name, number)])) for number in (1, 2)]
    assert sorted(filter(None, values(kafka_broker, unique_name))) == [b"v1", b"v2"]
    writer.commit([*made])
    assert len(values(kafka_broker, unique_name)) == 2
    assert isinstance(made[0], Share) and dataclasses.replace(made[0], query="") == Share(1)
    with pytest.raises(WorkerError, match="rows are not in the order of their positions"):
        writer.write(arrow([row(unique_name, number) for number in (4, 3)]))
    assert len(values(kafka_broker, unique_name)) == 2


def test_a_broker_that_is_away_ends_the_query_after_the_sinks_time() -> None:
    given = {"sink.bootstrap.servers": "127.0.0.1:9", "sink.timeout": "0.5", "sink.kafka.sasl.password": "hidden"}
    writer = stream_writer(given, SCHEMA)
    assert isinstance(writer, StreamWriter)
    with pytest.raises(WorkerError, match=r"127\.0\.0\.1:9") as ended:
        writer.commit(shares(writer, [row("t", 1)]), 0)
    assert "hidden" not in str(ended.value)
