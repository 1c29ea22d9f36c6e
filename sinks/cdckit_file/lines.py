"""Messages as JSON lines: `{"topic","partition","key","value","headers","timestamp"}`."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import orjson

from cdckit import POSITION_HEADER, EncodedHeaders, Form, Messages

_POSITION = b'{"key":"%b","value":"' % POSITION_HEADER.encode()
_VALUE = b',"value":'


class LineWriter:
    """Renders batches; what neighbouring messages share (topic, headers, timestamp) is rendered once.

    Args:
        key_form: what keys are: texts are written as strings, bytes as strings in base64.
        value_form: what values are.
        header_form: what headers are.
    """

    def __init__(self, key_form: Form = "json", value_form: Form = "json", header_form: Form = "json") -> None:
        self._key_form: Form = key_form
        self._value_form: Form = value_form
        self._header_form: Form = header_form

    def lines(self, messages: Messages) -> bytes:
        """One line a message, each with its newline."""
        shared: tuple[object, ...] = ()
        before = behind = end = b""
        parts: list[bytes] = []
        columns = zip(
            messages.topics,
            messages.partitions,
            _documents(messages.keys, self._key_form),
            _documents(messages.values, self._value_form),
            messages.headers,
            messages.positions,
            messages.timestamps,
            strict=True,
        )
        for topic, partition, key, value, headers, position, timestamp in columns:
            if (topic, partition, headers, timestamp, not position) != shared:
                shared = (topic, partition, headers, timestamp, not position)
                before = b'{"topic":%b,"partition":%b,"key":' % (orjson.dumps(topic), orjson.dumps(partition))
                behind, end = self._headers(headers, position), b'],"timestamp":%b}\n' % orjson.dumps(timestamp)
                if position:
                    end = b'"}' + end
            parts += (before, key, _VALUE, value, behind, position.encode(), end)
        return b"".join(parts)

    def _headers(self, headers: EncodedHeaders, position: str) -> bytes:
        """The headers up to where the position's text comes."""
        values = _documents([value for _, value in headers], self._header_form)
        rendered = [
            b'{"key":%b,"value":%b}' % (orjson.dumps(key), value)
            for (key, _), value in zip(headers, values, strict=True)
        ]
        return b',"headers":[' + b",".join([*rendered, _POSITION] if position else rendered)


def _documents(column: Sequence[bytes | None], form: Form) -> list[bytes]:
    """Each of the column's bytes as JSON."""
    if form == "json":
        return [b"null" if part is None else part for part in column]
    if form == "text":
        return [b"null" if part is None else orjson.dumps(part.decode()) for part in column]
    return [b"null" if part is None else b'"%b"' % base64.b64encode(part) for part in column]
