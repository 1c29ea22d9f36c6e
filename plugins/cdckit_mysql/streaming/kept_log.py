"""Reads a range of the log from the bytes that its planner has kept."""

from __future__ import annotations

from collections.abc import Iterator

from cdckit.record import Batch
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.splits import LogWork
from cdckit_mysql.streaming.processor import LogProcessor
from cdckit_mysql.streaming.reader import batch_of


def read_kept(work: LogWork, start: LogOffset, processor: LogProcessor, most: int) -> Iterator[Batch]:
    """Batches of at least `most` records, but for the last one.

    Raises:
        DecodeError: an event cannot be understood.
    """
    parser = EventParser(start.file, start.pos, checksums=work.checksums)
    size = 0
    for kept in work.events or ():
        size += len(kept)
        for event in parser.parse(kept, 0, len(kept)):
            processor.process(event)
        if len(processor.records) >= most:
            yield batch_of(processor, size)
            size = 0
    yield batch_of(processor, size)
