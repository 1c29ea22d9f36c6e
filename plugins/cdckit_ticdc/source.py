"""The source `ticdc`: row changes of TiDB that TiCDC put on Kafka, or that were recorded in files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cdckit import Batch, DecodeError, Offset, Record, Split, Undecoded
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.config import TicdcConfig
from cdckit_ticdc.decoding.csv_rows import CsvDecoder
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions
from cdckit_ticdc.decoding.protocols import make_decoder
from cdckit_ticdc.definitions import Definition, Definitions
from cdckit_ticdc.events import Ddl, Watermark
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.assembler import Assembler, Limits
from cdckit_ticdc.ordering.damaged import UNREADABLE, damaged
from cdckit_ticdc.ordering.resent import RowsAtWatermark
from cdckit_ticdc.ordering.scan import Scan
from cdckit_ticdc.passed_over import message_of
from cdckit_ticdc.reading.folders import open_folder
from cdckit_ticdc.reading.log import Chunk, MessageLog, Range
from cdckit_ticdc.reading.storage import StorageLog
from cdckit_ticdc.records import PHYSICAL_BITS, time_of
from cdckit_ticdc.topics import TopicSource, ends_of

_PROBED = 500
"""How many messages at a partition's end show whether watermarks come."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """The payload of a split: what it delivers of the messages in its range.

    Attributes:
        start: what was delivered before.
        up_to: the commit_ts up to which rows are delivered; None: all.
        alone: whether the split holds all partitions, so that their rows come out in order.
        definitions: what is known of tables, for workers that have no state.
    """

    start: LogOffset
    up_to: int | None
    alone: bool
    definitions: tuple[Definition, ...] = ()


class TicdcSource(TopicSource):
    """Reads what TiCDC wrote."""

    def __init__(self, config: TicdcConfig) -> None:
        super().__init__(config)
        self._config = config
        self._watermarked: bool | None = None
        self._scan: Scan | None = None

    @cached_property
    def log(self) -> MessageLog:
        """The topics, files, or what the storage sink wrote."""
        if self._config.storage_url is None:
            return self.topics_or_files()
        quote = self._config.csv_quote if self._config.protocol == "csv" else ""
        return StorageLog(open_folder(self._config.storage_url, self._config.storage_options), quote)

    # -- the contract

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """Where the topics end now; where it is waited for and watermarks come, only what is complete counts."""
        at = LogOffset.from_json(start)
        if wait_seconds == 0 or not self._with_watermarks(at):
            ends = ends_of(self.moved(at, wait_seconds))
            return start if ends == at.resume else LogOffset(ends, {}, at.watermark).to_json()
        until = time.monotonic() + wait_seconds
        scan = self._scan_from(at)
        while True:
            scan.read(self.log, self.moved(at, max(0.0, until - time.monotonic())))
            found = scan.offset(self.log)
            if found.watermark > at.watermark:
                return found.to_json()
            if time.monotonic() >= until or self.context.stopping():
                return start
            time.sleep(self.log.poll_seconds)

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """All partitions as one split, or a split for each."""
        at = LogOffset.from_json(start)
        self.checked(at)
        if end is None:
            return [Split(start, None, Stretch(at, None, alone=True))]
        stop = LogOffset.from_json(end)
        ends = {partition: stop.was_read(partition) for partition in stop.resume}
        unread = [one for one in sorted(ends) if ends[one] > at.resume.get(one, 0)]
        if not unread:
            return []
        up_to = stop.watermark if any(stop.was_read(one) != to for one, to in stop.resume.items()) else None
        if parallelism == 1 or len(unread) == 1:
            return [Split(start, end, Stretch(at, up_to, alone=True, definitions=tuple(self._definitions)))]
        self._learn(at, ends)
        known = tuple(self._definitions)
        return [_part(at, one, ends[one], Stretch(at, up_to, alone=False, definitions=known)) for one in unread]

    def read(self, split: Split) -> Iterator[Batch]:
        """The split's batches."""
        if split.start == split.end:
            return iter((Batch((), split.start),))
        stretch: Stretch = split.payload
        for definition in stretch.definitions:
            self._definitions.learn(definition)
        if stretch.alone:
            return self._ordered(split, stretch)
        return self._partition(split, stretch)

    def decoded(self, piece: Undecoded) -> Sequence[Record]:
        """The rows of a message."""
        message = message_of(piece)
        try:
            return [event for event in self._decoder.decode(message) if isinstance(event, Record)]
        except UNREADABLE as error:
            raise damaged(message, error) from error

    def time_ms(self, offset: Offset) -> int | None:
        """The watermark's time, where there is one."""
        return LogOffset.from_json(offset).watermark >> PHYSICAL_BITS or None

    # -- reading

    def _ordered(self, split: Split, stretch: Stretch) -> Iterator[Batch]:
        start = stretch.start
        held = self.log.ranges()
        begin = {one: start.resume.get(one, found.low) for one, found in held.items()}
        end = None if split.end is None else LogOffset.from_json(split.end)
        assembler = Assembler(
            self._decoder,
            LogOffset(begin, start.read, start.watermark),
            held,
            Limits(self._config.buffer_max_messages, self._config.buffer_max_bytes, self._config.resent_max_keys),
            self._tell,
            watermarked=self._with_watermarks(start),
            heeds_watermarks=self._decoder.times_rows and self._config.watermarks != "never",
            passed_over=self.pass_over,
        )
        stop = None if end is None else {one: end.was_read(one) for one in end.resume}
        try:
            for chunks in self.log.read(begin, stop, self.context.idle_seconds):
                for chunk in chunks:
                    try:
                        assembler.take(chunk)
                    except DecodeError:
                        yield from assembler.batches()
                        raise
                if not chunks:
                    assembler.settle()
                yield from assembler.batches(idle=not chunks)
                if self.context.stopping():
                    return
            if stretch.up_to is None:
                yield from assembler.batches(all_held=True)
        finally:
            assembler.close()

    def _partition(self, split: Split, stretch: Stretch) -> Iterator[Batch]:
        """One partition's rows of the stretch. Their positions put them in order among those of others."""
        ((partition, begin),) = LogOffset.from_json(split.start).resume.items()
        end = LogOffset.from_json(split.end or {}).resume
        for chunks in self.log.read({partition: begin}, end, self.context.idle_seconds):
            for chunk in chunks:
                yield Batch(self._rows(chunk, stretch), None, log_bytes=chunk.size)

    def _rows(self, chunk: Chunk, stretch: Stretch) -> list[Record]:
        made = []
        delivered = RowsAtWatermark(self._decoder, stretch.start)
        for message in chunk.messages:
            try:
                for event in self._decoder.decode(message):
                    if isinstance(event, Record) and self._belongs(event, message, chunk, stretch, delivered):
                        made.append(event)
            except UNREADABLE as error:
                self.pass_over(message, error)
        return made

    def _belongs(
        self, row: Record, message: Message, chunk: Chunk, stretch: Stretch, delivered: RowsAtWatermark
    ) -> bool:
        """Whether the stretch delivers a row: it was not delivered before, and is not held back."""
        time, start = time_of(row), stretch.start
        if not self._decoder.times_rows or time > start.watermark:
            return stretch.up_to is None or time <= stretch.up_to
        if time < start.watermark or message.offset < start.was_read(chunk.partition):
            return False
        return not delivered.has_record(row)

    # -- what the messages tell besides rows

    def _tell(self, ddl: Ddl) -> None:
        self.context.notices.schema_changed(position=f"{ddl.commit_ts:020d}", ddl=ddl.statement, tables=ddl.tables)

    def _scan_from(self, start: LogOffset) -> Scan:
        """What has been looked through beyond an offset so far: asked again, it goes on where it was."""
        if self._scan is None or self._scan.start != start:
            self._scan = Scan(self._decoder, start, self.pass_over)
        return self._scan

    def _learn(self, start: LogOffset, ends: Mapping[Partition, int]) -> None:
        """Reads definitions out of the messages of a stretch, for workers each of which sees one partition."""
        if not self._decoder.learns:
            return
        scan = Scan(self._decoder, start, self.pass_over)
        scan.read(self.log, {partition: Range(0, end) for partition, end in ends.items()})

    def _with_watermarks(self, start: LogOffset) -> bool:
        """Whether the changefeed sends watermarks: they are among the last messages then."""
        if not self._decoder.times_rows:
            return False
        if self._config.watermarks != "auto":
            return self._config.watermarks == "always"
        if self._watermarked is None:
            self._watermarked = start.watermark > 0 or any(
                _is_watermark(self._decoder, message)
                for partition in self.log.ranges()
                for message in self.log.tail(partition, _PROBED)
            )
        return self._watermarked

    @cached_property
    def _definitions(self) -> Definitions:
        return Definitions(self.context.state)

    @cached_property
    def _decoder(self) -> Decoder:
        config = self._config
        columns = ColumnOptions(
            config.decimal_handling_mode,
            config.bigint_unsigned_handling_mode,
            config.binary_handling_mode,
            config.zone,
            config.given_types,
        )
        options = DecoderOptions(columns, config.topic_prefix, config.keys, config.tombstones_on_delete)
        if isinstance(self.log, StorageLog) and config.protocol == "csv":
            return CsvDecoder(options, self._definitions, config.csv_form, self.log.definitions)
        return make_decoder(config.protocol, options, self._definitions, self.registry)


def _part(start: LogOffset, partition: Partition, end: int, stretch: Stretch) -> Split:
    begin = LogOffset({partition: start.resume.get(partition, 0)})
    return Split(begin.to_json(), LogOffset({partition: end}).to_json(), stretch)


def _is_watermark(decoder: Decoder, message: Message) -> bool:
    try:
        return isinstance(decoder.peek(message).other, Watermark)
    except DecodeError:
        return False  # it is told of when its turn comes
