"""Which records tables have already, of those that come again after a crash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from cdckit import Record, RoutedMark, lane_of
from cdckit.tables.direct import BegunBatch

_ALL: Mapping[str, str] = {}


class Written:
    """Those of one attempt.

    Args:
        begun: the batches that some tables may have.
        last: gives the number of the last batch that a topic's table has; None where it has none.
    """

    def __init__(self, begun: Sequence[BegunBatch], last: Callable[[str], int | None]) -> None:
        self._reached = {one.number: one.reached for one in begun}
        self._last = last
        self._tables: dict[str, Mapping[str, str] | None] = {}

    def __bool__(self) -> bool:
        return bool(self._reached)

    def lacks(self, topic: str, position: str) -> bool:
        """Whether the topic's table does not have what is at a position."""
        if topic not in self._tables:
            self._tables[topic] = self._of(topic)
        reached = self._tables[topic]
        if reached is None:
            return True
        return reached is not _ALL and position > reached.get(lane_of(position), "")

    def _of(self, topic: str) -> Mapping[str, str] | None:
        """How far a table has come; None: it has nothing of these batches."""
        number = self._last(topic)
        if number is None or number not in self._reached:
            return None
        reached = self._reached[number]
        return _ALL if reached is None else reached

    def records(self, records: Sequence[Record]) -> list[Record]:
        """The records that tables lack."""
        return [record for record in records if self.lacks(record.topic, record.position)]

    def marks(self, marks: Sequence[RoutedMark]) -> list[RoutedMark]:
        """The marks that tables have not followed."""
        return [mark for mark in marks if self.lacks(mark.topic, mark.mark.position)]
