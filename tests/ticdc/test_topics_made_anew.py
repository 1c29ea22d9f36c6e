"""Topics that are deleted, or deleted and made anew, while they are read or while the pipeline is stopped."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence
from typing import Any

import pytest

from cdckit.errors import SourceError
from cdckit_ticdc.message import Message
from testkit.running import to_file
from testkit.servers.kafka import KafkaBroker
from testkit.servers.process import halt
from ticdc.topics import Topic

FIRST, MORE = 5, 20


def messages_of(topic: Topic, numbers: Sequence[int]) -> list[Message]:
    source = {"version": "3.6.0", "connector": "mysql", "name": "p", "ts_ms": 1, "db": "d", "table": "t"}
    return [
        Message(
            topic.name,
            0,
            number,
            json.dumps({"id": number}).encode(),
            json.dumps({"before": None, "after": {"id": number}, "source": source, "op": "c", "ts_ms": 1}).encode(),
            None,
            (),
        )
        for number in numbers
    ]


def _delete(broker: KafkaBroker, name: str) -> None:
    admin = broker.admin()
    admin.delete_topics([name])[name].result(30)
    until = time.monotonic() + 30
    while name in broker.topics():
        assert time.monotonic() < until
        time.sleep(0.05)


def _made_anew(topic: Topic, numbers: range = range(100, 100 + MORE)) -> None:
    """By default with more in it than was read."""
    _delete(topic.broker, topic.name)
    topic.broker.create_topic(topic.name, 3)
    topic.produce(messages_of(topic, numbers))


@pytest.fixture
def read(topic: Topic) -> Topic:
    """A topic that a pipeline has read to its end, and stopped."""
    topic.produce(messages_of(topic, range(FIRST)))
    assert len(topic.once(type="debezium")) == FIRST
    return topic


def test_a_topic_that_was_made_anew_while_stopped_is_refused(read: Topic) -> None:
    _made_anew(read)
    for _ in range(2):
        with pytest.raises(SourceError, match=rf"topic '{read.name}' was deleted and made anew"):
            read.once(type="debezium")


def test_a_topic_that_was_deleted_while_stopped_is_named(read: Topic) -> None:
    _delete(read.broker, read.name)
    with pytest.raises(SourceError, match=rf"there is no topic '{read.name}'"):
        read.once(type="debezium")


@pytest.mark.parametrize("anew", [None, range(0), range(100, 100 + MORE)], ids=["deleted", "empty", "made anew"])
def test_a_topic_that_goes_while_it_is_read_is_named(topic: Topic, anew: range | None) -> None:
    topic.produce(messages_of(topic, range(FIRST)))
    source: dict[str, Any] = {
        "type": "debezium", "bootstrap.servers": topic.broker.bootstrap, "topics": [topic.name],
        "kafka": {"topic.metadata.refresh.interval.ms": "1000", "topic.metadata.propagation.max.ms": "500"},
    }  # fmt: skip
    made = to_file(topic.folder, source)
    with made.running() as process:
        process.wait_until(lambda: made.output.exists() and len(made.events()) == FIRST)
        if anew is None:
            _delete(topic.broker, topic.name)
        else:
            halt(process.process.pid)  # else it may look while there is no topic
            _made_anew(topic, anew)
            process.process.send_signal(signal.SIGCONT)
        ended = process.ended()
    assert ended.code == 3, ended.stderr
    assert topic.name in ended.errors
    assert "made anew" in ended.errors if anew is not None else "no topic" in ended.errors or "is gone" in ended.errors
    assert [event["key"]["id"] for event in made.events()][:FIRST] == list(range(FIRST))
    again = made.run("--once")
    assert again.code == 3
    assert topic.name in again.errors
