"""Which records tables have already, of those that come again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from cdckit import Record, RoutedMark, lane_of
from cdckit.tables.direct import BegunBatch


class Written:
    """Those of one attempt.

    Args:
        begun: the batches that some tables may have.
        last: gives the number of the last batch that a topic's table has; None where it has none.

    Attributes:
        held: by position, which of those batches hold a record, where positions of then and now do not sort; None where
            they do.
    """

    def __init__(self, begun: Sequence[BegunBatch], last: Callable[[str], int | None]) -> None:
        self.held: Mapping[str, Collection[int]] | None = None
        self._reached = {one.number: one.reached for one in begun}
        self._last = last
        self._tables: dict[str, int | None] = {}

    def __bool__(self) -> bool:
        return bool(self._reached)

    def lacks(self, topic: str, position: str) -> bool:
        """Whether the topic's table does not have what is at a position."""
        number = self.last(topic)
        if number is None:
            return True
        reached = self._reached[number]
        if reached is None:
            return False
        if self.held is not None:
            return number not in self.held.get(position, ())
        return position > reached.get(lane_of(position), "")

    def last(self, topic: str) -> int | None:
        """The last one of these batches that a topic's table has; None: it has none of them."""
        if topic not in self._tables:
            number = self._last(topic)
            self._tables[topic] = number if number in self._reached else None
        return self._tables[topic]

    def records(self, records: Sequence[Record]) -> list[Record]:
        """The records that tables lack."""
        return [record for record in records if self.lacks(record.topic, record.position)]

    def marks(self, marks: Sequence[RoutedMark]) -> list[RoutedMark]:
        """The marks that tables have not followed."""
        return [mark for mark in marks if self.lacks(mark.topic, mark.mark.position)]
