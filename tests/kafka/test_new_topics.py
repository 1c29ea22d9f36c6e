"""Nothing that is written to a topic while its broker still makes it is lost."""

from __future__ import annotations

from kafka.reading import read_topics
from kafka.writing import Outgoing, batch, opened
from testkit.servers.kafka import KafkaBroker

_TOPICS = 40
_RECORDS = 300
_AT_THE_EDGE = {
    "topic.creation.default.partitions": 3,
    "kafka.batch.num.messages": 1,
    "kafka.retry.backoff.ms": 1,
    "kafka.topic.metadata.refresh.fast.interval.ms": 1,
}
"""Many small requests as early as can be: some come after the broker has told of the topic's partitions and before it
has made them, and are refused.
"""


def test_records_for_new_topics_all_arrive_in_order(kafka_broker: KafkaBroker, unique_name: str) -> None:
    topics = [f"{unique_name}.{number}" for number in range(_TOPICS)]
    keys = [b"k%d" % number for number in range(_RECORDS)]
    with opened(kafka_broker.bootstrap, _AT_THE_EDGE) as sink:
        for topic in topics:
            sink.write(batch([Outgoing(topic, key, b"v") for key in keys]))
            sink.flush()
    arrived: dict[tuple[str, int], list[int]] = {}
    for record in read_topics(kafka_broker.bootstrap, topics):
        assert record.key is not None
        arrived.setdefault((record.topic, record.partition), []).append(int(record.key[1:]))
    for numbers in arrived.values():
        assert numbers == sorted(numbers)
    for topic in topics:
        found = sorted(number for (name, _), numbers in arrived.items() if name == topic for number in numbers)
        assert found == list(range(_RECORDS)), f"{topic} lacks {set(range(_RECORDS)) - set(found)}"
