"""Logs whose partitions are files, read one after the other."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from cdckit_ticdc.offsets import Partition
from cdckit_ticdc.reading.log import Chunk, MessageLog


class FilesInOrder(MessageLog):
    """A log in which each partition is a file; files that come are read when they are seen."""

    def read(
        self, start: Mapping[Partition, int], end: Mapping[Partition, int] | None, idle_seconds: float
    ) -> Iterator[list[Chunk]]:
        """The files' lines, file by file in their order."""
        at = dict(start)
        while True:
            ends = {partition: held.high for partition, held in self.ranges().items()} if end is None else end
            for partition in sorted(ends, key=self.order):
                for chunk in self.chunks(partition, at.get(partition, 0), ends[partition]):
                    at[partition] = chunk.next
                    yield [chunk]
            if end is not None:
                return
            yield []
            time.sleep(idle_seconds)

    @abstractmethod
    def order(self, partition: Partition) -> Any:
        """What files are ordered by."""

    @abstractmethod
    def chunks(self, partition: Partition, start: int, end: int) -> Iterator[Chunk]:
        """The lines of a file between two places.

        Raises:
            SourceError: it cannot be read.
        """
