"""Recorded messages in files, in each of the forms that tools write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.errors import DecodeError
from cdckit_ticdc.reading.lines import read_line
from ticdc.topics import pipeline_once

VALUE = '{"before":null,"after":{"id":1},"source":{"name":"s","db":"shop","table":"orders"},"op":"c"}'
KEY = '{"id":1}'
KCAT = {
    "topic": "s.shop.orders", "partition": 2, "offset": 41, "tstype": "create", "ts": 1700000000000, "broker": 0,
    "headers": ["a", "x", "b", None], "key": KEY, "payload": VALUE,
}  # fmt: skip
"""What `kcat -C -J` prints for a message."""

FORMS: dict[str, dict[str, Any]] = {
    "kcat": KCAT,
    "texts": {"topic": "s.shop.orders", "key": KEY, "value": VALUE},
    "base64": {
        "topic": "s.shop.orders", "key": "eyJpZCI6MX0=", "key_encoding": "base64", "value": VALUE,
    },
    "documents": {"topic": "s.shop.orders", "key": json.loads(KEY), "value": json.loads(VALUE)},
    "value alone": json.loads(VALUE),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_the_same_message(form: str) -> None:
    message = read_line(json.dumps(FORMS[form]).encode(), "dump/s.shop.orders.jsonl", 7)
    assert (message.topic, message.offset, message.file) == ("s.shop.orders", 7, "dump/s.shop.orders.jsonl")
    assert json.loads(message.value or b"") == json.loads(VALUE)
    assert json.loads(message.key or b"null") == (None if form == "value alone" else {"id": 1})


def test_kcat_tells_partition_time_and_headers() -> None:
    message = read_line(json.dumps(KCAT).encode(), "dump.jsonl", 0)
    assert (message.partition, message.timestamp, message.headers) == (2, 1700000000000, (("a", b"x"), ("b", None)))


def test_a_tombstone_is_one_in_each_form() -> None:
    for line in ({**KCAT, "payload": None}, {"topic": "t", "key": KEY, "value": None}):
        assert read_line(json.dumps(line).encode(), "dump.jsonl", 0).value is None


@pytest.mark.parametrize("line", [b"{", b"[1]", b'{"topic":"t","key":5,"value":"x","value_encoding":"base64"}'])
def test_what_is_no_message_is_named_by_its_place(line: bytes) -> None:
    with pytest.raises(DecodeError, match=r"dump\.jsonl, byte 12: "):
        read_line(line, "dump.jsonl", 12)


def test_a_dump_is_a_source(tmp_path: Path) -> None:
    """A pipeline reads it once, and goes on where the file goes on."""
    dump = tmp_path / "dump.jsonl"
    dump.write_text(json.dumps(KCAT) + "\n")
    source = {"type": "debezium", "files": [str(dump)]}
    assert [line["key"] for line in pipeline_once(tmp_path, source)] == [{"id": 1}]
    assert pipeline_once(tmp_path, source) == []
    with dump.open("a") as file:
        file.write(json.dumps({**KCAT, "key": '{"id":2}'}) + "\n")
    assert [line["key"] for line in pipeline_once(tmp_path, source)] == [{"id": 2}]
