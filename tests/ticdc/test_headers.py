"""Headers that a pipeline wrote to Kafka come back, in whichever form it wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit import logical
from cdckit.api.record import UNAVAILABLE_HEADER, Header, Record
from cdckit.api.schema import BYTES, INT64, STRING, Schema, struct_schema
from cdckit.api.struct import Struct
from cdckit.connector.envelope import NEW_KEY, OLD_KEY
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit_ticdc.decoding.envelopes import EnvelopeDecoder, EnvelopeOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.message import Message, RawHeaders

AMOUNT = Schema("bytes", name=logical.DECIMAL_NAME, version=1, parameters={"scale": "3"})
KEY = struct_schema("k", {"id": INT64, "name": STRING, "token": BYTES, "amount": AMOUNT})
NULLABLE = Schema("string", optional=True)
FORMS = [
    {"header.format": "simple"},
    {"header.format": "json"},
    {"header.format": "json", "header.schemas.enable": False},
]
POSITION = "00000000000000000012-0007"


def key(number: int) -> Struct:
    """A key with what JSON and plain text show differently."""
    unscaled = 10**39 + number
    return Struct(KEY, (number, 'a\n"b"\\', b"\xfb\xff", unscaled.to_bytes(17, "big", signed=True)))


def read(record: Record, **options: object) -> Record:
    """The record out of the message that a pipeline makes of it."""
    written = JsonSerializer(JsonConfig.load(options, "serializer")[0])
    messages = written.serialize([record])
    before, behind = written.around_position
    headers = (*messages.headers[0], ("__cdckit.position", f"{before}{record.position}{behind}".encode()))
    return decoded(headers, messages.keys[0])


def decoded(headers: RawHeaders, of_key: bytes | None = None) -> Record:
    value = b'{"before":null,"after":{"id":1},"source":{"db":"d","table":"t"},"op":"c"}'
    made = EnvelopeDecoder(EnvelopeOptions(), Definitions(), None).decode(
        Message("t", 0, 5, of_key, value, headers=headers)
    )
    assert isinstance(made[-1], Record)
    return made[-1]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())))
def test_every_form_is_read(form: dict[str, Any]) -> None:
    headers = (
        Header("__debezium.context.taskId", "0"),
        Header(OLD_KEY, key(-1), KEY),
        Header(NEW_KEY, key(2), KEY),
        Header(UNAVAILABLE_HEADER, "name,no te"),
    )
    record = read(Record("t", key(1), None, headers, POSITION), **form)
    assert record.position == POSITION
    assert [(header.key, header.value) for header in record.headers] == [(h.key, h.value) for h in headers]


@pytest.mark.parametrize("form", FORMS[:2], ids=lambda form: "-".join(map(str, form.values())))
def test_a_null_is_read(form: dict[str, Any]) -> None:
    """Without schemas, JSON's null is the text."""
    record = read(Record("t", key(1), None, (Header("__db", None, NULLABLE),)), **form)
    found = record.header("__db")
    assert found is not None
    assert found.value is None


def test_a_number_without_measure_stays_as_it_came() -> None:
    of_key = struct_schema("k", {"amount": AMOUNT})
    written = JsonSerializer(JsonConfig()).serialize([Record("t", Struct(of_key, (b"\1",)), None)])
    header = decoded(((NEW_KEY, b'{"amount":1e999999999}'),), written.keys[0]).header(NEW_KEY)
    assert header is not None
    assert not isinstance(header.value, Struct)


def test_a_key_that_does_not_fit_stays_as_it_came() -> None:
    """What others write into a header of that name is theirs."""
    deep = b'{"id":' + b"[" * 1000 + b"]" * 1000 + b"}"
    for text in (b'{"id":"x"}', b'{"other":1}', b"{", b"2", deep, deep.replace(b"[", b"[" * 9)):
        header = decoded(((NEW_KEY, text),), b'{"schema":{"type":"struct","fields":[{"type":"int64","optional":false,'
                         b'"field":"id"}],"optional":false},"payload":{"id":1}}').header(NEW_KEY)  # fmt: skip
        assert header is not None
        assert not isinstance(header.value, Struct)
