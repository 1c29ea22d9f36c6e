"""Brokers that are away, and records that they refuse."""

from __future__ import annotations

import logging
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cdckit.api.sink import SinkContext
from cdckit.errors import ConfigError, SinkError
from cdckit_kafka.sink import KafkaSink
from kafka.reading import read_topic
from kafka.writing import Outgoing, batch, configured, deliver, opened
from testkit.servers.kafka import QUICK_TO_BELIEVE_IN_DEATH, KafkaBroker
from testkit.servers.ports import free_port


@pytest.fixture
def mortal_broker() -> Iterator[KafkaBroker]:
    """A broker of the test's own, to be killed."""
    with KafkaBroker().start(**QUICK_TO_BELIEVE_IN_DEATH) as broker:
        yield broker


def _nobody() -> str:
    return f"127.0.0.1:{free_port()}"


def test_once_gives_up_on_an_unreachable_broker_after_the_timeout() -> None:
    address = _nobody()
    sink = KafkaSink(configured(address, {"timeout": 1.5}))
    with pytest.raises(SinkError, match=rf"gave up waiting for a Kafka broker .*{address}.*Connection refused"):
        sink.open(SinkContext("test", once=True))
    sink.close()


def test_waiting_for_a_broker_ends_when_the_pipeline_stops() -> None:
    sink = KafkaSink(configured(_nobody(), {"timeout": 0.1}))
    with pytest.raises(SinkError, match="stopped while waiting for a Kafka broker"):
        sink.open(SinkContext("test", stopping=lambda: True))
    sink.close()


def test_a_broker_that_comes_later_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    with KafkaBroker() as broker, ThreadPoolExecutor(1) as pipeline:
        broker.create_topic("late")
        broker.stop()
        with caplog.at_level(logging.INFO, "cdckit.kafka"):
            sink = KafkaSink(configured(broker.bootstrap, {"timeout": 0.1}))
            opening = pipeline.submit(sink.open, SinkContext("test"))
            _until(caplog, "waiting for a Kafka broker to answer")
            broker.start()
            opening.result(60)
        sink.write(batch([Outgoing("late", b"k", b"v")]))
        sink.flush()
        sink.close()
        assert [record.value for record in read_topic(broker.bootstrap, "late")] == [b"v"]


def test_a_broker_killed_under_load_costs_nothing(mortal_broker: KafkaBroker, caplog: pytest.LogCaptureFixture) -> None:
    sent = [Outgoing("t", b"k%d" % (number % 11), b"%d" % number) for number in range(60_000)]
    options = {"topic.creation.default.partitions": 3, "timeout": 0.1}
    context = SinkContext("test")

    def pipeline() -> None:
        with opened(mortal_broker.bootstrap, options, context) as sink:
            for start in range(0, len(sent), 500):
                if start == len(sent) // 2:
                    killed.wait()  # or all might be sent before the broker is killed
                sink.write(batch(sent[start : start + 500]))
                if start % 5_000 == 0:
                    sink.flush()
                progress.append(start)
            sink.flush()

    progress: list[int] = []
    killed = threading.Event()
    with caplog.at_level(logging.INFO, "cdckit.kafka"), ThreadPoolExecutor(1) as runner:
        running = runner.submit(pipeline)
        while len(progress) < len(sent) // 500 // 3 and not running.done():
            time.sleep(0.01)
        mortal_broker.kill()
        killed.set()
        assert not running.done(), running.result()
        _until(caplog, "waiting for Kafka to acknowledge records")
        mortal_broker.start()
        running.result(120)
    assert "Kafka answers again" in caplog.text
    read = read_topic(mortal_broker.bootstrap, "t")
    assert sorted(int(record.value or b"") for record in read) == list(range(len(sent)))
    for key in {one.key for one in sent}:
        assert [r.value for r in read if r.key == key] == [one.value for one in sent if one.key == key]


def test_once_gives_up_on_a_broker_that_hangs(kafka_broker: KafkaBroker, unique_name: str) -> None:
    _warm(kafka_broker, unique_name)
    with opened(kafka_broker.bootstrap, {"timeout": 1.5}) as sink:
        sink.write(batch([Outgoing(unique_name, b"k", b"0")]))
        sink.flush()
        kafka_broker.signal(signal.SIGSTOP)
        try:
            sink.write(batch([Outgoing(unique_name, b"k", b"1")]))
            with pytest.raises(SinkError, match="gave up waiting for Kafka to acknowledge records"):
                sink.flush()
        finally:
            kafka_broker.signal(signal.SIGCONT)


def test_a_full_buffer_before_a_hanging_broker_is_waited_on(kafka_broker: KafkaBroker, unique_name: str) -> None:
    _warm(kafka_broker, unique_name)
    options = {"timeout": 1.5, "kafka.queue.buffering.max.messages": 100}
    with opened(kafka_broker.bootstrap, options) as sink:
        kafka_broker.signal(signal.SIGSTOP)
        try:
            with pytest.raises(SinkError, match="gave up waiting for Kafka to acknowledge records"):
                sink.write(batch([Outgoing(unique_name, b"k", b"%d" % number) for number in range(101)]))
        finally:
            kafka_broker.signal(signal.SIGCONT)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, "Raise sink.kafka.message.max.bytes"),
        ({"kafka.message.max.bytes": 9_000_000}, "Raise the topic's max.message.bytes"),
        (
            {"kafka.message.max.bytes": 9_000_000, "kafka.queue.buffering.max.kbytes": 100},
            "Raise sink.kafka.queue.buffering.max.kbytes",
        ),
    ],
)
def test_a_record_too_large_is_named(
    kafka_broker: KafkaBroker, unique_name: str, options: dict[str, object], advice: str
) -> None:
    with pytest.raises(SinkError) as caught:
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b'{"id":7}', b"x" * 1_100_000)], options)
    said = str(caught.value)
    assert said.startswith(f"topic '{unique_name}'")
    assert 'the record with key {"id":7} (1100008 bytes)' in said
    assert advice in said


def test_the_largest_record_that_the_java_producer_may_send_passes(kafka_broker: KafkaBroker, unique_name: str) -> None:
    value = b"x" * (1_048_576 - 100)
    deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", value)])
    assert read_topic(kafka_broker.bootstrap, unique_name)[0].value == value


def test_of_a_refused_batch_the_largest_record_is_named(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, max_message_bytes=10_000)
    sent = [Outgoing(unique_name, b"%d" % number, b"x" * (20_000 if number == 5 else 9)) for number in range(9)]
    with pytest.raises(SinkError, match=r"record with key 5 \(20001 bytes\).*8 more records"):
        deliver(kafka_broker.bootstrap, sent, {"kafka.linger.ms": 200})


def test_a_record_without_a_key_does_not_fit_a_compacted_topic(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, cleanup_policy="compact")
    with pytest.raises(SinkError, match=rf"{unique_name}.*with no key.*compacted topic"):
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, None, b"v")])


def test_a_partition_that_does_not_exist_is_named(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name)
    with pytest.raises(SinkError, match=f"topic '{unique_name}' partition 4 .*fewer partitions"):
        deliver(kafka_broker.bootstrap, [Outgoing(unique_name, b"k", b"v", partition=4)])


def test_a_topic_deleted_in_mid_run_is_named(kafka_broker: KafkaBroker, unique_name: str) -> None:
    options = {"kafka.topic.metadata.propagation.max.ms": 500}
    with opened(kafka_broker.bootstrap, options) as sink:
        sink.write(batch([Outgoing(unique_name, b"k", b"v")]))
        sink.flush()
        kafka_broker.delete_topics([unique_name])
        with pytest.raises(SinkError, match=f"topic '{unique_name}' .*was deleted"):
            for _ in range(2):
                sink.write(batch([Outgoing(unique_name, b"k", b"v")]))
                sink.flush()


def test_a_time_limit_on_records_is_an_error_when_it_passes(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name)
    # Longer than a broker on a busy machine takes for the first record.
    with opened(kafka_broker.bootstrap, {"producer.override.delivery.timeout.ms": 10_000}) as sink:
        sink.write(batch([Outgoing(unique_name, b"k", b"v")]))
        sink.flush()
        kafka_broker.signal(signal.SIGSTOP)
        try:
            sink.write(batch([Outgoing(unique_name, b"k", b"v")]))
            with pytest.raises(SinkError, match=r"timed out.*sink\.kafka\.message\.timeout\.ms"):
                sink.flush()
        finally:
            kafka_broker.signal(signal.SIGCONT)


def test_an_option_that_librdkafka_lacks_is_named(kafka_broker: KafkaBroker) -> None:
    with pytest.raises(ConfigError, match=re.escape("sink.kafka.lingr.ms: librdkafka has no such option")):
        deliver(kafka_broker.bootstrap, [], {"kafka.lingr.ms": 1})


def test_what_librdkafka_refuses_is_said_without_secrets(kafka_broker: KafkaBroker) -> None:
    secret = "hunter2"
    options = {
        "kafka.security.protocol": "sasl_ssl",
        "kafka.sasl.mechanism": secret,
        "kafka.sasl.password": secret,
    }
    with pytest.raises(ConfigError, match=r"sink\.kafka: .*\*\*\*") as caught:
        deliver(kafka_broker.bootstrap, [], options)
    assert secret not in str(caught.value)


def _warm(broker: KafkaBroker, topic: str) -> None:
    """Makes a topic and has it take a record: a new broker on a busy machine takes seconds for its first."""
    broker.create_topic(topic)
    deliver(broker.bootstrap, [Outgoing(topic, b"k", b"first")])


def _until(caplog: pytest.LogCaptureFixture, said: str) -> None:
    """Waits until the log says so; the test's own time limit ends it."""
    while said not in caplog.text:
        time.sleep(0.05)
