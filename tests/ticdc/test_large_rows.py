"""Rows that were too large for Kafka: messages with the key alone stop a pipeline, since the rest would be made up."""

from __future__ import annotations

import struct
from typing import Any

import orjson
import pytest

from cdckit.errors import DecodeError
from cdckit_ticdc.message import Message
from ticdc.recordings import lines
from ticdc.test_recordings import decoder_of

PLACE = "s3://claims/2f6c.json"


def first_row(folder: str) -> Message:
    """The first recorded row, behind whatever defines its table."""
    return next(line.message for line in lines(folder, "txn_two_tables") if line.kind == "row")


def canal_json(**told: Any) -> Message:
    """A row whose TiDB extension tells more."""
    message = first_row("canal-json-tidbext")
    body = orjson.loads(message.value or b"")
    return message._replace(value=orjson.dumps({**body, "_tidb": {**body["_tidb"], **told}}))


def simple(**told: Any) -> Message:
    message = first_row("simple-json")
    return message._replace(value=orjson.dumps({**orjson.loads(message.value or b""), **told}))


def open_protocol(**told: Any) -> Message:
    """A row whose key tells more: a version and a length stand before it."""
    message = first_row("open-protocol")
    key = message.key or b""
    head = orjson.dumps({**orjson.loads(key[16:]), **told})
    return message._replace(key=key[:8] + struct.pack(">Q", len(head)) + head)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("canal-json-tidbext", canal_json(claimCheckLocation=PLACE)),
        ("simple-json", simple(claimCheckLocation=PLACE)),
        ("open-protocol", open_protocol(ccl=PLACE)),
    ],
)
def test_a_claim_check_names_where_the_row_is(folder: str, message: Message) -> None:
    with pytest.raises(DecodeError, match=f"byte .*: table .*: the row is too large .* was put at {PLACE}"):
        _decoder(folder).decode(message)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("canal-json-tidbext", canal_json(onlyHandleKey=True)),
        ("simple-json", simple(handleKeyOnly=True)),
        ("open-protocol", open_protocol(ohk=True)),
    ],
)
def test_a_key_alone_is_no_row(folder: str, message: Message) -> None:
    with pytest.raises(DecodeError, match=r"byte .*: table .*: the row is too large .* only its key was sent"):
        _decoder(folder).decode(message)


@pytest.mark.parametrize(
    ("folder", "message"),
    [("canal-json-tidbext", canal_json()), ("simple-json", simple()), ("open-protocol", open_protocol())],
)
def test_the_same_rows_whole_are_decoded(folder: str, message: Message) -> None:
    assert len(_decoder(folder).decode(message)) == 1


def _decoder(folder: str) -> Any:
    decoder = decoder_of(folder)
    for line in lines(folder, "txn_two_tables"):
        if line.kind != "row":
            decoder.decode(line.message)
    return decoder
