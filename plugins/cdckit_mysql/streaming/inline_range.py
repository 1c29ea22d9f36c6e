"""Reads a range of the log from the bytes that its planner has kept."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit import Batch
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.reader import batch_of


def read_kept(work: LogWork, start: LogOffset, processor: LogProcessor, most: int) -> Iterator[Batch]:
    """Batches of `most` records or a few more, but for the last one.

    Raises:
        DecodeError: an event cannot be understood.
    """
    parser = EventParser(start.file, start.pos, checksums=work.checksums)
    kept = work.events or ()
    events = parser.events((event, 0, len(event)) for event in kept)
    while processor.process(events, most):
        yield batch_of(processor, 0)
    yield batch_of(processor, sum(map(len, kept)))
