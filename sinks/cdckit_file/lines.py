"""Messages as JSON lines: `{"topic","partition","key","value","headers","timestamp"}`."""

from __future__ import annotations

import base64

import orjson

from cdckit.messages import EncodedHeaders, Messages
from cdckit.record import POSITION_HEADER

_POSITION = b'{"key":"%b","value":"' % POSITION_HEADER.encode()


class LineWriter:
    """Renders batches; what many messages share (topic, headers) is rendered once.

    Args:
        json_texts: whether keys, values and headers are JSON texts; otherwise they are written as base64 strings.
    """

    def __init__(self, *, json_texts: bool) -> None:
        self._text = _as_json if json_texts else _as_base64
        self._topics: dict[str, bytes] = {}
        self._headers: EncodedHeaders | None = None
        self._headers_text = b""

    def lines(self, messages: Messages) -> bytes:
        """One line a message, each with its newline."""
        return b"".join(
            map(
                self._line,
                messages.topics,
                messages.partitions,
                messages.keys,
                messages.values,
                messages.headers,
                messages.positions,
                messages.timestamps,
            )
        )

    def _line(
        self,
        topic: str,
        partition: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: EncodedHeaders,
        position: str,
        timestamp: int | None,
    ) -> bytes:
        if headers is not self._headers:
            self._headers, self._headers_text = headers, self._render_headers(headers)
        return b'{"topic":%b,"partition":%b,"key":%b,"value":%b,"headers":[%b%b],"timestamp":%b}\n' % (
            self._topics.get(topic) or self._render_topic(topic),
            b"null" if partition is None else b"%d" % partition,
            self._text(key),
            self._text(value),
            self._headers_text,
            self._render_position(position),
            b"null" if timestamp is None else b"%d" % timestamp,
        )

    def _render_topic(self, topic: str) -> bytes:
        if len(self._topics) > 10_000:
            self._topics.clear()
        text = self._topics[topic] = orjson.dumps(topic)
        return text

    def _render_headers(self, headers: EncodedHeaders) -> bytes:
        rendered = (b'{"key":%b,"value":%b}' % (orjson.dumps(key), self._text(value)) for key, value in headers)
        return b",".join(rendered)

    def _render_position(self, position: str) -> bytes:
        if not position:
            return b""
        return b'%b%b%b"}' % (b"," if self._headers_text else b"", _POSITION, position.encode())


def _as_json(text: bytes | None) -> bytes:
    return b"null" if text is None else text


def _as_base64(text: bytes | None) -> bytes:
    return b"null" if text is None else b'"%b"' % base64.b64encode(text)
