"""`cdc offsets export`: Kafka Connect's own classes read what a connector of Debezium is to go on from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from cdckit.connector.takeover.java_map import read_byte_map, write_byte_map
from cdckit.connector.takeover.offsets import offsets_of
from testkit.states import state_in
from transforms.jvm import jpype, start_jvm

MYSQL = {"type": "mysql", "topic.prefix": "g", "database.hostname": "h", "database.user": "u"}
MONGODB = {"type": "mongodb", "topic.prefix": "g", "mongodb.connection.string": "mongodb://h"}
PLACE = {"file": "binlog.000003", "pos": 157, "gtids": "24da1670-0c0c-11e8-8442-00059a3c7b00:1-19", "ts_sec": 7}
TOKEN = "MQAAAAJfZGF0YQAhAAAAODI2MzAwMDAwMDAwMDAwMDAxMkIwNDI5Mjk2RTE0MDQAAA=="


def _pipeline(folder: Path, source: Mapping[str, Any], offset: dict[str, Any] | None) -> str:
    """The file of a pipeline that has come to an offset."""
    with closing(state_in(folder / "state").open()) as state:
        state.save_offset(offset)
    path = folder / "p.json"
    path.write_text(json.dumps({"source": source, "sink": {"type": "stdout"}, "state": "state"}))
    return str(path)


@pytest.mark.parametrize(
    ("source", "offset", "partition", "noted"),
    [
        (
            MYSQL,
            {**PLACE, "event": 3, "row": 2, "server_id": 1, "transaction_id": "t", "cdckit_row_in_part": True},
            {"server": "g"},
            {**PLACE, "server_id": 1},
        ),
        (
            MONGODB,
            {"sec": 9, "ord": 1, "resume_token": TOKEN, "cdckit_tie": 1},
            {"server_id": "g"},
            {"sec": 9, "ord": 1, "resume_token": TOKEN},
        ),
        (
            MONGODB,
            {"sec": 9, "ord": 1, "resume_token": TOKEN, "cdckit_event_in_part": True},
            {"server_id": "g"},
            {"sec": 9, "ord": 1},
        ),
    ],
)
def test_kafka_connect_reads_it(
    source: dict[str, Any],
    offset: dict[str, Any],
    partition: dict[str, Any],
    noted: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file, made = _pipeline(tmp_path, source, offset), tmp_path / "offsets.dat"
    assert call(["offsets", "export", file, "--to-debezium", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == {"offsets": [{"partition": partition, "offset": noted}]}
    assert call(["offsets", "export", file, "--to-debezium", str(made), "--connector", "inventory"]) == 0
    [found] = offsets_of(made, source["topic.prefix"])
    assert (found.connector, found.partition, found.offset) == ("inventory", partition, noted)
    assert _read_by_connect(made, "inventory", partition) == noted


def _read_by_connect(file: Path, connector: str, partition: Mapping[str, Any]) -> dict[str, Any]:
    """What the offset storage of a worker with that file gives to a connector."""
    start_jvm()
    connect = "org.apache.kafka.connect"
    hash_map, converter_class = jpype.JClass("java.util.HashMap"), jpype.JClass(f"{connect}.json.JsonConverter")
    worker_config = jpype.JClass(f"{connect}.runtime.standalone.StandaloneConfig")
    reader_class = jpype.JClass(f"{connect}.storage.OffsetStorageReaderImpl")
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    options = {
        "bootstrap.servers": "b:1",
        "key.converter": json_converter,
        "value.converter": json_converter,
        "offset.storage.file.filename": str(file),
    }
    converters = converter_class(), converter_class()
    for converter, of_keys in zip(converters, (True, False), strict=True):
        converter.configure(hash_map({"schemas.enable": "false"}), of_keys)
    store = jpype.JClass(f"{connect}.storage.FileOffsetBackingStore")(converters[0])
    store.configure(worker_config(hash_map(options)))
    store.start()
    found = reader_class(store, connector, *converters).offset(hash_map(dict(partition)))
    assert found is not None
    return {str(each.getKey()): _plain(each.getValue()) for each in found.entrySet()}


def _plain(value: Any) -> Any:
    """A Java value as JSON has it."""
    return int(value) if str(value.getClass().getSimpleName()) == "Long" else str(value)


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        (None, "has no offset"),
        ({**PLACE, "snapshot": "INITIAL"}, "the snapshot is not finished"),
        ({"gtids": PLACE["gtids"], "cdckit_epoch": 1}, "is not known yet"),
    ],
)
def test_a_place_that_no_connector_knows_is_refused(
    offset: dict[str, Any] | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = _pipeline(tmp_path, MYSQL, offset)
    assert call(["offsets", "export", file, "--to-debezium", "-"]) == 7
    assert words in capsys.readouterr().err


def test_a_file_needs_the_connectors_name_and_replaces_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, made = _pipeline(tmp_path, MYSQL, PLACE), tmp_path / "offsets.dat"
    assert call(["offsets", "export", file, "--to-debezium", str(made)]) == 2
    assert "--connector" in capsys.readouterr().err
    made.write_text("x")
    assert call(["offsets", "export", file, "--to-debezium", str(made), "--connector", "c"]) == 7
    assert made.read_text() == "x"


@pytest.mark.parametrize("count", [1, 2, 12, 13, 100])
def test_maps_of_any_size_are_read_again(count: int) -> None:
    pairs = [(b"key %d" % number, b"v" * number) for number in range(count)]
    assert read_byte_map(write_byte_map(pairs)) == pairs
