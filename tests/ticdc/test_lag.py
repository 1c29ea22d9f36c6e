"""How many messages lie between an offset and the topics' ends."""

from __future__ import annotations

import json

from cdckit.api.source import SourceContext
from cdckit_ticdc.config import DebeziumConfig
from cdckit_ticdc.debezium_source import DebeziumSource
from cdckit_ticdc.message import Message
from ticdc.topics import Topic


def change(number: int) -> bytes:
    source = {"connector": "mysql", "db": "shop", "table": "t", "ts_ms": 1}
    return json.dumps({"before": None, "after": {"id": number}, "source": source, "op": "c", "ts_ms": 1}).encode()


def messages(name: str, first: int, count: int) -> list[Message]:
    return [Message(name, number % 2, 0, b"%d" % number, change(number), 1) for number in range(first, first + count)]


def test_of_an_offset_in_the_middle_and_at_the_end(topic: Topic) -> None:
    topic.produce(messages(topic.name, 0, 10))
    given = {"bootstrap.servers": topic.broker.bootstrap, "topics": topic.name}
    source = DebeziumSource(DebeziumConfig.load(given, "source")[0])
    source.open(SourceContext("lag"))
    try:
        start = source.initial_offset()
        assert source.lag_messages(start) == 10
        (split,) = source.plan(start, source.latest_offset(start))
        last = [batch.offset for batch in source.read(split)][-1]
        assert last is not None
        assert source.lag_messages(last) == 0
        assert source.lag_bytes(last) is None
    finally:
        source.close()


def test_the_status_tells_it(topic: Topic) -> None:
    topic.produce(messages(topic.name, 0, 10))
    topic.once(type="debezium")
    (path,) = topic.folder.rglob("status.json")
    status = json.loads(path.read_text())
    assert (status["lag_messages"], status["lag_seconds"], status["records"]) == (0, 0, 10)
