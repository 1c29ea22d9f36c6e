"""Messages as JSON lines: `{"topic","partition","key","value","headers","timestamp"}`."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import orjson

from cdckit import POSITION_HEADER, EncodedHeaders, Messages

_POSITION = b'{"key":"%b","value":"' % POSITION_HEADER.encode()
_VALUE = b',"value":'


class LineWriter:
    """Renders batches; what neighbouring messages share (topic, headers, timestamp) is rendered once.

    Args:
        json_texts: whether keys and values are JSON texts; otherwise they and headers are written as base64 strings.
        json_headers: whether headers are JSON texts, too; otherwise they are texts, which are written as strings.
    """

    def __init__(self, *, json_texts: bool, json_headers: bool = True) -> None:
        self._json_texts = json_texts
        self._plain_headers = json_texts and not json_headers

    def lines(self, messages: Messages) -> bytes:
        """One line a message, each with its newline."""
        shared: tuple[object, ...] = ()
        before = behind = end = b""
        parts: list[bytes] = []
        columns = zip(
            messages.topics,
            messages.partitions,
            self._texts(messages.keys),
            self._texts(messages.values),
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

    def _texts(self, column: Sequence[bytes | None]) -> list[bytes]:
        if self._json_texts:
            return [b"null" if text is None else text for text in column]
        return [b"null" if text is None else b'"%b"' % base64.b64encode(text) for text in column]

    def _header(self, value: bytes | None) -> bytes | None:
        return orjson.dumps(value.decode()) if self._plain_headers and value is not None else value

    def _headers(self, headers: EncodedHeaders, position: str) -> bytes:
        """The headers up to where the position's text comes."""
        values = self._texts([self._header(value) for _, value in headers])
        rendered = [
            b'{"key":%b,"value":%b}' % (orjson.dumps(key), value)
            for (key, _), value in zip(headers, values, strict=True)
        ]
        return b',"headers":[' + b",".join([*rendered, _POSITION] if position else rendered)
