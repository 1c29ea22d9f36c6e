"""Reads what Kafka Connect and Debezium keep: offsets and schema histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from cdckit.connector.takeover.history import read_history
from cdckit.connector.takeover.offsets import offsets_of
from cdckit.errors import ConfigError, StateError
from testkit.servers.kafka import KafkaBroker

WRITTEN_BY_CONNECT = bytes.fromhex(
    "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f72490009746872657368"
    "6f6c6478703f4000000000000c77080000001000000001757200025b42acf317f8060854e00200007870000000195b22656e67696e65222c7b22"
    "736572766572223a2267227d5d7571007e0002000000907b2274735f736563223a313739353237313430382c2266696c65223a2262696e6c6f67"
    "2e303030303031222c22706f73223a33333938352c226774696473223a2266383437656464312d653562372d313166312d393839312d30326663"
    "30303030303030313a312d3739222c22726f77223a312c227365727665725f6964223a31333339372c226576656e74223a337d78"
)
"""`offsets.dat` of Debezium 3.6.3's engine, stopped within a transaction."""
OFFSET = {
    "ts_sec": 1795271408,
    "file": "binlog.000001",
    "pos": 33985,
    "gtids": "f847edd1-e5b7-11f1-9891-02fc00000001:1-79",
    "row": 1,
    "server_id": 13397,
    "event": 3,
}
KEY = '["inventory",{"server":"g"}]'


def test_the_file_of_the_embedded_engine_is_read(tmp_path: Path) -> None:
    file = tmp_path / "offsets.dat"
    file.write_bytes(WRITTEN_BY_CONNECT)
    assert [each.offset for each in offsets_of(file, "g")] == [OFFSET]
    with pytest.raises(StateError, match=r"0 connectors have topic\.prefix 'h'.*engine"):
        offsets_of(file, "h")
    file.write_bytes(WRITTEN_BY_CONNECT[:-40])
    with pytest.raises(StateError, match="ends too early"):
        offsets_of(file, "g")


@pytest.mark.parametrize(
    "lines",
    [
        [f"{KEY}\t" + '{"pos": 1}', f"{KEY}\t" + '{"pos": 2}', '["other",{"server":"x"}]\t{"pos": 9}'],
        [json.dumps({"key": KEY, "value": '{"pos": 2}'})],
        [json.dumps({"key": ["inventory", {"server": "g"}], "value": {"pos": 2}})],
        [f"{KEY}\t" + '{"pos": 2}', '["gone",{"server":"g"}]\t{"pos": 1}', '["gone",{"server":"g"}]\tnull'],
    ],
)
def test_the_newest_message_of_an_offset_topic_counts(tmp_path: Path, lines: list[str]) -> None:
    file = tmp_path / "dump.jsonl"
    file.write_text("\n".join(lines))
    assert [each.offset for each in offsets_of(file, "g")] == [{"pos": 2}]


def test_two_connectors_of_one_prefix_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "dump.jsonl"
    file.write_text('["a",{"server":"g"}]\t{"pos": 1}\n["b",{"server":"g"}]\t{"pos": 1}\n')
    with pytest.raises(StateError, match=r"2 connectors have topic\.prefix 'g'"):
        offsets_of(file, "g")
    file.write_text("nonsense\n")
    with pytest.raises(StateError, match="line 1: no message"):
        offsets_of(file, "g")


def _record(number: int) -> dict[str, Any]:
    return {"position": {"file": "b.1", "pos": number}, "ddl": f"CREATE TABLE t{number} (i INT)"}


def test_a_connector_may_have_an_offset_for_each_of_its_partitions(tmp_path: Path) -> None:
    file = tmp_path / "dump.jsonl"
    file.write_text('["m",{"rs":"a","server_id":"g"}]\t{"sec": 1}\n["m",{"rs":"b","server_id":"g"}]\t{"sec": 2}\n')
    assert {each.partition["rs"]: each.offset for each in offsets_of(file, "g")} == {"a": {"sec": 1}, "b": {"sec": 2}}


def test_a_history_is_read_from_files(tmp_path: Path) -> None:
    file = tmp_path / "history.dat"
    records = [_record(1), _record(2), _record(3)]
    lines = [json.dumps(records[0]), "null\t" + json.dumps(records[1]), json.dumps({"key": None, "value": records[2]})]
    file.write_text("\n".join(lines) + "\n")
    assert list(read_history(str(file))) == records
    file.write_text("nonsense\n")
    with pytest.raises(StateError, match="record 1: no JSON document"):
        list(read_history(str(file)))


def test_a_history_is_read_from_a_topic_of_one_partition(kafka_broker: KafkaBroker, unique_name: str) -> None:
    records = [_record(number) for number in range(300)]
    kafka_broker.create_topic(unique_name)
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    for record in records:
        producer.produce(unique_name, json.dumps(record).encode())
    producer.flush()
    assert list(read_history(f"kafka://{kafka_broker.bootstrap}/{unique_name}")) == records
    kafka_broker.create_topic(f"{unique_name}_two", partitions=2)
    with pytest.raises(StateError, match="has 2 partitions; a schema history has one"):
        list(read_history(f"kafka://{kafka_broker.bootstrap}/{unique_name}_two"))
    with pytest.raises(StateError, match=f"topic {unique_name}_none: .*[Uu]nknown topic"):
        list(read_history(f"kafka://{kafka_broker.bootstrap}/{unique_name}_none"))
    with pytest.raises(ConfigError, match="not of the form"):
        list(read_history("kafka://nowhere"))
