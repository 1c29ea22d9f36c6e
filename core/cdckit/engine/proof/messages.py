"""Images of what a sink of messages holds, and of what the pipeline would write there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from cdckit.api.held import Barrier, HeldMessage, Image, ImageColumns, Images, Shown
from cdckit.api.messages import Messages
from cdckit.api.record import Record, lane_of
from cdckit.api.serializer import Serializer
from cdckit.api.sink import Sink, SinkContext
from cdckit.api.struct import Struct
from cdckit.engine.proof.canonical import OfRow, RowReader
from cdckit.errors import ConfigError

_EVENT = frozenset({"after", "source", "op"})
"""What change events have; those of MongoDB in Debezium 1.9 have no row before."""
_NO_KEY = "its records have no key, so that one row cannot be told from another: a primary key, or message.key.columns"
_PARTIAL = (
    "the source's log did not carry all values of its rows (binlog_row_image), so that the topic holds parts of them"
)


class MessageImages(Images):
    """By the JSON of the serializer.

    Args:
        serializer: the pipeline's.
        sink: the pipeline's, not open.
        context: what a runner would give the sink.
        told: for a topic, makes the hash of a row as the pipeline's ledger has it.
        keeps: whether the sink keeps all messages, and they have positions.

    Raises:
        ConfigError: keys or values are not JSON, or the sink cannot be read back.
    """

    def __init__(
        self,
        serializer: Serializer,
        sink: Sink,
        context: SinkContext,
        told: Mapping[str, OfRow] | None = None,
        *,
        keeps: bool = False,
    ) -> None:
        super().__init__()
        self.keeps = keeps
        if not serializer.readable or not (sink.reads_bytes or serializer.value_form == "json"):
            raise ConfigError(
                "serializer.type: cdc diff reads keys and values as JSON, of topics also as Confluent's Avro, and this "
                "serializer writes others"
            )
        sink.read_back(context, ())  # one that cannot says so before anything is read
        self._serializer = serializer
        self._sink = sink
        self._context = context
        self._shown: dict[str, Shown] = {}
        self._envelopes: dict[str, bool] = {}
        self._readers: dict[str, RowReader] = {}
        self._told = told or {}
        self._reached: Mapping[str, str] = {}
        self._ends: Mapping[str, Any] | None = None

    def show(self, topic: str, shown: Shown) -> None:
        """Other columns that a message has besides are not looked at."""
        self._shown[topic] = shown
        self._readers.pop(topic, None)

    def columns_of(self, records: Sequence[Record]) -> Iterator[ImageColumns | Iterable[Image]]:
        """By columns where they are rows of one topic."""
        if not records:
            return
        messages = self._serializer.serialize(records)
        topic, read = records[0].topic, self._serializer.read_back
        if messages.topics.count(topic) == len(records):
            self._know(topic, records[0].value)
            keys = [read(topic, "key", key) for key in messages.keys if key is not None]
            values = [read(topic, "value", value) for value in messages.values if value is not None]
            if len(keys) == len(values) == len(records):
                found = self._reader(topic).columns(keys, values)
                if found is not None:
                    yield ImageColumns(topic, *found)
                    return
        yield self._of(records, messages)

    def _know(self, topic: str, value: object) -> None:
        if topic not in self._envelopes and isinstance(value, Struct):
            self._envelopes[topic] = value.schema.index.keys() >= _EVENT
            self._readers.pop(topic, None)

    def of(self, records: Sequence[Record]) -> Iterator[Image]:
        """Those of the messages that the records become."""
        return self._of(records, self._serializer.serialize(records))

    def _of(self, records: Sequence[Record], messages: Messages) -> Iterator[Image]:
        read = self._serializer.read_back
        for record, key, value in zip(records, messages.keys, messages.values, strict=True):
            topic = record.topic
            self._know(topic, record.value)
            image = self._reader(topic).image(
                None if key is None else read(topic, "key", key),
                None if value is None else read(topic, "value", value),
                record.position,
            )
            if image is not None:
                yield image
            elif value is not None:
                self.undecidable[topic] = _NO_KEY

    def fields(self, topic: str, row: bytes) -> dict[str, Any]:
        """Those of the message's row."""
        return self._reader(topic).fields(row)

    def until(self, barrier: Barrier) -> None:
        """By the ends of topics, or by the positions of messages."""
        self._ends = barrier.ends
        self._reached = barrier.reached if barrier.ends is None else {}

    def held(self, topics: Collection[str]) -> Iterator[Sequence[Image]]:
        """Those of the sink's messages."""
        for batch in self._batches(topics):
            yield list(self._images(batch))

    def held_columns(self, topics: Collection[str]) -> Iterator[ImageColumns | Iterable[Image]]:
        """By columns where a batch has rows of one topic."""
        for batch in self._batches(topics):
            reached = self._reached
            told = [one for one in batch if not reached or one.position <= reached.get(lane_of(one.position), "")]
            topic = told[0].topic if told else ""
            if told and not any(one.partial or one.topic != topic for one in told):
                found = self._reader(topic).columns([one.key for one in told], [one.value for one in told])
                if found is not None:
                    yield ImageColumns(topic, *found)
                    continue
            yield list(self._images(told))

    def _batches(self, topics: Collection[str]) -> Iterator[Sequence[HeldMessage]]:
        ends = self._ends
        held = (
            self._sink.read_back(self._context, topics)
            if ends is None
            else self._sink.read_back_to(self._context, topics, ends)
        )
        self.passing = set(held.passing)
        yield from held.batches
        self.removed = dict(held.removed)

    def _images(self, batch: Iterable[HeldMessage]) -> Iterator[Image]:
        reached = self._reached
        for topic, key, value, position, partial in batch:
            if reached and position > reached.get(lane_of(position), ""):
                continue
            if partial:
                self.undecidable[topic] = _PARTIAL
            image = self._reader(topic).image(key, value, position)
            if image is not None:
                yield image
            elif value is not None:
                self.undecidable[topic] = _NO_KEY

    def _reader(self, topic: str) -> RowReader:
        reader = self._readers.get(topic)
        if reader is None:
            reader = RowReader(topic, self._envelopes.get(topic), self._shown.get(topic), self._told.get(topic))
            self._readers[topic] = reader
        return reader

    def close(self) -> None:
        """Nothing is open."""
