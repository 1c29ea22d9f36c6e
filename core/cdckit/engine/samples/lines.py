"""Records as JSON lines that are read back without loss: the file sink's lines, whose parts all have their schemas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from cdckit.api.record import POSITION_HEADER, Offset, Record
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

Document = dict[str, Any]


class SampleLines:
    """Writes the lines that `cdckit.connector.connect_json.reader.read_records` reads."""

    def __init__(self) -> None:
        options = {"schemas.enable": True, "replace.null.with.default": False, "header.format": "json"}
        self._serializer = JsonSerializer(JsonConfig.model_validate(options))

    def lines(self, records: Sequence[Record], offset: Offset | None = None) -> bytes:
        """A line for each record.

        Args:
            records: in order.
            offset: where reading goes on behind them; it stands at the last one.

        Raises:
            TransformError: a value that JSON cannot hold; the message names topic and position.
        """
        documents = list(self._documents(records))
        if documents and offset is not None:
            documents[-1]["offset"] = offset
        return b"".join(orjson.dumps(document) + b"\n" for document in documents)

    def document(self, record: Record) -> Document:
        """What a record's line says.

        Raises:
            TransformError: as `lines`.
        """
        document: Document = orjson.loads(self.lines([record]))
        return document

    def _documents(self, records: Sequence[Record]) -> Iterator[Document]:
        messages = self._serializer.serialize(records)
        for at, record in enumerate(records):
            headers = [{"key": name, "value": _json(text)} for name, text in messages.headers[at]]
            if record.position:
                headers.append({"key": POSITION_HEADER, "value": record.position})
            yield {
                "topic": record.topic,
                "partition": record.partition,
                "key": _json(messages.keys[at]),
                "value": _json(messages.values[at]),
                "headers": headers,
                "timestamp": record.timestamp,
            }


def _json(text: bytes | None) -> orjson.Fragment | None:
    return None if text is None else orjson.Fragment(text)
