"""The source `debezium`: topics that Debezium, or whoever writes its format, fills."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from cdckit import Batch, DecodeError, Offset, Record, Split, Undecoded
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.config import DebeziumConfig
from cdckit_ticdc.decoding.envelopes import EnvelopeDecoder, EnvelopeOptions
from cdckit_ticdc.definitions import Definition, Definitions
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.passed_over import message_of
from cdckit_ticdc.reading.log import Chunk
from cdckit_ticdc.topics import TopicSource, ends_of

_DDL = b'"tableChanges"'
_PROBED = 20
"""How many messages at a partition's end show whether rows have schemas; tombstones show nothing."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The payload of a split.

    Attributes:
        definitions: what is known of tables, for workers that have no state.
    """

    definitions: tuple[Definition, ...] = ()


class DebeziumSource(TopicSource):
    """Reads messages in Debezium's format, each partition in its own order."""

    def __init__(self, config: DebeziumConfig) -> None:
        super().__init__(config)
        self._config = config

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the topics end now."""
        at = LogOffset.from_json(start)
        ends = ends_of(self.moved(at, wait_seconds))
        return start if ends == at.resume else LogOffset(ends).to_json()

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """All partitions as one split, or a split for each."""
        at = LogOffset.from_json(start)
        self.checked(at)
        if end is None:
            return [Split(start, None, Stretch())]
        ends = LogOffset.from_json(end).resume
        unread = [one for one in sorted(ends) if ends[one] > at.resume.get(one, 0)]
        if parallelism == 1 or len(unread) <= 1:
            return [Split(start, end, Stretch(tuple(self._definitions)))] if unread else []
        if self._has_schemaless(unread):
            self._learn(at, {one: ends[one] for one in unread})
        stretch = Stretch(tuple(self._definitions))
        return [
            Split(LogOffset({one: at.resume.get(one, 0)}).to_json(), LogOffset({one: ends[one]}).to_json(), stretch)
            for one in unread
        ]

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's records, message by message."""
        if split.start == split.end:
            yield Batch((), split.start)
            return
        stretch: Stretch = split.payload
        for definition in stretch.definitions:
            self._definitions.learn(definition)
        at = dict(LogOffset.from_json(split.start).resume)
        if split.end is None:
            at = {one: at.get(one, held.low) for one, held in self.log.ranges().items()}
        end = None if split.end is None else LogOffset.from_json(split.end).resume
        for chunks in self.log.read(at, end, self.context.idle_seconds):
            for chunk in chunks:
                yield from self._batches(chunk, at)
            if not chunks:
                yield Batch((), LogOffset(at).to_json())
            if self.context.stopping():
                return

    def _batches(self, chunk: Chunk, at: dict[Partition, int]) -> Iterator[Batch]:
        """A batch for a chunk; what stands before a message that cannot be understood comes before the error."""
        records: list[Record] = []
        for message in chunk.messages:
            try:
                events = self._understood(message)
            except DecodeError:
                at[chunk.partition] = message.offset
                yield Batch(records, LogOffset(at).to_json())
                raise
            for event in events:
                if isinstance(event, Ddl):
                    self._tell(event)
                else:
                    records.append(event)
        at[chunk.partition] = chunk.next
        time_ms = next((record.timestamp for record in reversed(records) if record.timestamp), None)
        yield Batch(records, LogOffset(at).to_json(), time_ms, chunk.size)

    def _understood(self, message: Message) -> Sequence[Record | Ddl]:
        try:
            return self._decoder.decode(message)
        except DecodeError as error:
            self.pass_over(message, error)
            return ()

    def decoded(self, piece: Undecoded) -> Sequence[Record]:
        """The message as a record."""
        return [event for event in self._decoder.decode(message_of(piece)) if isinstance(event, Record)]

    def _tell(self, ddl: Ddl) -> None:
        self.context.notices.schema_changed(position=f"{ddl.commit_ts:020d}", ddl=ddl.statement, tables=ddl.tables)

    def _has_schemaless(self, partitions: Sequence[Partition]) -> bool:
        """Whether messages come without schemas, so that their types are in schema changes if anywhere."""
        last = (message.value for one in partitions for message in self.log.tail(one, _PROBED))
        return any(value is not None and value[:1] == b"{" and b'"schema":{' not in value for value in last)

    def _learn(self, start: LogOffset, ends: dict[Partition, int]) -> None:
        """Reads the schema changes of a stretch, for workers each of which sees one partition."""
        begin = {one: start.resume.get(one, 0) for one in ends}
        for chunks in self.log.read(begin, ends, self.context.idle_seconds):
            for chunk in chunks:
                for message in chunk.messages:
                    if _DDL in (message.value or b""):
                        self._understood(message)

    @cached_property
    def _definitions(self) -> Definitions:
        return Definitions(self.context.state)

    @cached_property
    def _decoder(self) -> EnvelopeDecoder:
        config = self._config
        columns = ColumnOptions(
            config.decimal_handling_mode,
            config.bigint_unsigned_handling_mode,
            config.binary_handling_mode,
            types=config.given_types,
        )
        return EnvelopeDecoder(EnvelopeOptions(columns, config.topic_naming), self._definitions, self.registry)
