"""A message that is damaged on a broker's disk is told, and nothing of it delivered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit.errors import DecodeError
from testkit.servers.kafka import KafkaBroker
from ticdc.test_topics_made_anew import messages_of
from ticdc.topics import Topic


@pytest.fixture(scope="module")
def broker() -> Iterator[KafkaBroker]:
    """One whose files may be damaged."""
    with KafkaBroker() as made:
        yield made


def test_a_flipped_bit_on_the_brokers_disk_is_told(broker: KafkaBroker, unique_name: str, tmp_path: Path) -> None:
    """It stays JSON: without `kafka.check.crcs` a wrong number would be delivered, as what is turned off shows."""
    broker.create_topic(unique_name)
    topic = Topic(broker, unique_name, tmp_path)
    for number in (1, 22, 333):  # a batch each
        topic.produce(messages_of(topic, [number]))
    broker.stop()
    segment = next(broker.datadir.glob(f"{unique_name}-0/*.log"))
    content = bytearray(segment.read_bytes())
    content[content.index(b'"after": {"id": 22') + len(b'"after": {"id": ')] ^= 1
    segment.write_bytes(content)
    broker.start()
    for _ in range(2):
        with pytest.raises(DecodeError, match=rf"topic {unique_name}, partition 0: .* offset 1 .* failed CRC32C check"):
            topic.once(type="debezium")
        assert [event["value"]["after"] for event in _events(tmp_path)] == [{"id": 1}]
    unchecked = topic.beside("unchecked").once(type="debezium", **{"kafka.check.crcs": "false"})
    assert [event["value"]["after"]["id"] for event in unchecked] == [1, 32, 333]


def _events(folder: Path) -> list[dict[str, dict[str, object]]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_bytes().splitlines()]
