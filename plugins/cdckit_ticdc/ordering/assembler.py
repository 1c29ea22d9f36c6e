"""Messages in, batches of records out, in commit order where the messages allow it.

With watermarks: rows are held back until all partitions have been sent up to their time, then come out sorted; DDL
takes part in that. Without: rows come out as they stand in their partitions, and one that is older than the newest of
its key is left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from cdckit import Batch, DecodeError, Record
from cdckit.connector.envelope import NEW_KEY, OLD_KEY
from cdckit_ticdc.decoding.decoder import Decoder
from cdckit_ticdc.events import Ddl, Watermark
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.buffer import Buffer, Held
from cdckit_ticdc.ordering.damaged import UNREADABLE, stopped_at
from cdckit_ticdc.ordering.resent import NewestByKey, RowsAtWatermark
from cdckit_ticdc.ordering.watermarks import Watermarks
from cdckit_ticdc.reading.log import Chunk
from cdckit_ticdc.records import PHYSICAL_BITS, time_of

log = logging.getLogger("cdckit.ticdc")

_RECORDS = 2000
_SORTED_TOGETHER = 50_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is kept in memory.

    Attributes:
        messages: how many held messages.
        bytes: how many bytes of them.
        keys: of how many keys the newest time.
    """

    messages: int = 50_000
    bytes: int = 64 << 20
    keys: int = 1_000_000


@dataclass(slots=True)
class _OpenTransaction:
    """Rows of one time at the end of what was read of a partition.

    Attributes:
        time: their time.
        offset: the offset of the first.
        records: what they become.
    """

    time: int
    offset: int
    records: list[Record] = field(default_factory=list)


class Assembler:
    """Puts the messages of several partitions into order.

    Args:
        decoder: makes events of messages.
        start: where reading begins, and what was delivered before.
        partitions: those that are read.
        limits: how much memory may hold.
        changed: is told of each DDL statement once, at its time.
        watermarked: whether watermarks are waited for from the start.
        heeds_watermarks: whether they count once they come.
        passed_over: takes a message that cannot be understood, or raises a `DecodeError`.
    """

    def __init__(
        self,
        decoder: Decoder,
        start: LogOffset,
        partitions: Iterable[Partition],
        limits: Limits,
        changed: Callable[[Ddl], None],
        *,
        watermarked: bool,
        heeds_watermarks: bool = True,
        passed_over: Callable[[Message, Exception], None] = stopped_at,
    ) -> None:
        self._decoder = decoder
        self._start = start
        self._limits = limits
        self._changed = changed
        self._watermarked = watermarked
        self._heeds = heeds_watermarks
        self._passed_over = passed_over
        self._marks = Watermarks(partitions, start.watermark)
        self._released = start.watermark
        self._read: dict[Partition, int] = {**start.resume, **start.read}
        self._at: dict[Partition, int] = dict(start.resume)
        self._buffer = Buffer(limits.messages, limits.bytes)
        self._newest = NewestByKey(limits.keys)
        self._at_watermark = RowsAtWatermark(decoder, start)
        self._statements: dict[tuple[int, str], None] = {}
        self._ready: list[Record] = []
        self._open: dict[Partition, _OpenTransaction] = {}
        self._bytes = 0
        self.resent = 0

    def take(self, chunk: Chunk) -> None:
        """Takes messages of one partition.

        Raises:
            DecodeError: a message cannot be understood; those before it are taken.
        """
        self._marks.add(chunk.partition)
        for message in chunk.messages:
            try:
                self._take(chunk.partition, message)
            except DecodeError:
                self._at[chunk.partition] = message.offset
                self.settle()
                raise
        if not self._watermarked:
            self._end_transaction(chunk.partition, only_if_whole=True)
        self._at[chunk.partition] = chunk.next
        self._bytes += chunk.size

    def _take(self, partition: Partition, message: Message) -> None:
        try:
            if self._watermarked:
                self._hold(partition, message)
            else:
                self._pass(partition, message)
        except UNREADABLE as error:
            self._passed_over(message, error)

    def batches(self, *, all_held: bool = False, idle: bool = False) -> Iterator[Batch]:
        """What can be delivered now; at the end of all that is to be read, what is held back too.

        While idle there is at least one batch, so that a runner is not kept waiting.

        Every batch but the last repeats the offset before it: reading cannot resume inside.

        Raises:
            DecodeError: a message that was held back cannot be understood; what comes before it was given.
        """
        if all_held:
            self.settle()
        before = self.offset()
        records = self._ready
        self._ready = []
        try:
            for record in self._released_records(all_held=all_held):
                records.append(record)
                if len(records) >= _RECORDS:
                    # An offset is a watermark and one place for each partition: within a release there is none that has
                    # just the rows so far behind it.
                    yield Batch(records, before, repeats=True)
                    records = []
        except DecodeError:
            yield Batch(records, before, repeats=True)
            raise
        after = self.offset()
        if records or after != before or self._bytes or idle:
            time_ms = time_of(records[-1]) >> PHYSICAL_BITS if records else None
            taken, self._bytes = self._bytes, 0
            yield Batch(records, after, time_ms or None, taken)

    def offset(self) -> dict[str, object]:
        """Where to go on."""
        # A partition is read again from its oldest message that is held back; what lies behind that and was delivered
        # is told by the watermark.
        held = {**self._buffer.first_offsets(), **{one: open_.offset for one, open_ in self._open.items()}}
        resume = {partition: held.get(partition, at) for partition, at in self._at.items()}
        read = {partition: max(at, self._read.get(partition, at)) for partition, at in self._at.items()}
        return LogOffset(resume, read, self._released, self._at_watermark.identities).to_json()

    def close(self) -> None:
        """Removes what lies on disk."""
        self._buffer.close()

    # -- with watermarks

    def _hold(self, partition: Partition, message: Message) -> None:
        times, other = self._decoder.peek(message)
        if isinstance(other, Watermark):
            self._advance(partition, other)
        elif isinstance(other, Ddl) and not self._is_new(other):
            return
        for time in times:
            # TiCDC sends again from an older checkpoint after a restart or when a table moves to another node; what
            # lies below the watermark has been delivered.
            if time < self._marks.passed or self._at_watermark.has(message, time, partition):
                self.resent += 1
            else:
                self._buffer.add(time, partition, message)

    def _advance(self, partition: Partition, mark: Watermark) -> None:
        if not self._heeds:
            return
        if not self._watermarked:
            log.info("watermarks come: rows are held back until all partitions have reached their time")
            self._watermarked = True
        self._marks.advance(partition, mark.commit_ts)

    def _released_records(self, *, all_held: bool) -> Iterator[Record]:
        if not len(self._buffer) or (self._marks.passed <= self._released and not all_held):
            self._released = self._marks.passed
            return
        together: list[Record] = []
        time = -1
        self._at_watermark.move(self._marks.passed)
        for held in self._buffer.take(None if all_held else self._marks.passed):
            if held.time != time or len(together) >= _SORTED_TOGETHER:
                yield from _sorted(together)
                together, time = [], held.time
            try:
                together += self._understood(held)
            except DecodeError:
                yield from _sorted(together)
                raise
        yield from _sorted(together)
        self._released = self._marks.passed

    def _understood(self, held: Held) -> list[Record]:
        try:
            return list(self._records(held))
        except UNREADABLE as error:
            self._passed_over(held.message, error)
            return []

    def _records(self, held: Held) -> Iterator[Record]:
        for event in self._decoder.decode(held.message):
            if isinstance(event, Ddl):
                self._changed(event)
            elif isinstance(event, Record) and time_of(event) == held.time:
                self._at_watermark.note(event, held.time)
                yield event

    # -- without watermarks

    def settle(self) -> None:
        """Nothing more comes for now: transactions that may have gone on are taken for whole."""
        for partition in list(self._open):
            self._end_transaction(partition)

    def _pass(self, partition: Partition, message: Message) -> None:
        for event in self._decoder.decode(message):
            if isinstance(event, Record):
                self._pass_record(partition, message, event)
            elif isinstance(event, Watermark):
                self._end_transaction(partition)
                self._advance(partition, event)
            elif isinstance(event, Ddl) and self._is_new(event):
                self._end_transaction(partition)
                self._changed(event)

    def _pass_record(self, partition: Partition, message: Message, record: Record) -> None:
        time = time_of(record)
        # In order within a partition, a row that is older than its key's newest is one that was sent again; passing it
        # on would put the key back.
        if self._decoder.times_rows and self._newest.is_older(record, time):
            self.resent += 1
            return
        open_ = self._open.get(partition)
        if open_ is None or open_.time != time:
            self._end_transaction(partition)
            open_ = self._open[partition] = _OpenTransaction(time, message.offset)
        open_.records.append(record)

    def _end_transaction(self, partition: Partition, *, only_if_whole: bool = False) -> None:
        """Passes a transaction's rows on. One in which keys move may go on in the next message: it has to be whole."""
        open_ = self._open.get(partition)
        if open_ is None or (only_if_whole and any(map(_moved, open_.records))):
            return
        self._ready += _sorted(open_.records)
        del self._open[partition]

    def _is_new(self, ddl: Ddl) -> bool:
        """Whether the statement was not met yet, in this partition or another."""
        identity = (ddl.commit_ts, ddl.statement)
        if identity in self._statements or ddl.commit_ts <= self._start.watermark:
            return False
        # TiCDC sends a statement to every partition.
        self._statements[identity] = None
        if len(self._statements) > self._limits.messages:
            del self._statements[next(iter(self._statements))]
        return True


def _moved(record: Record) -> bool:
    """Whether the record is one half of a row's move to another key."""
    return record.header(NEW_KEY) is not None or record.header(OLD_KEY) is not None


def _sorted(records: list[Record]) -> list[Record]:
    """The records of one time: deletes first, and each transaction's together where start_ts is known."""
    # `sort` is stable: rows that positions do not tell apart stay as they came.
    records.sort(key=_position)
    return records


def _position(record: Record) -> str:
    return record.position
