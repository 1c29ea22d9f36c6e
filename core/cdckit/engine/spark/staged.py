"""What tasks hand the driver of a batch that it writes alone, and the order in which it does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Any

from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from cdckit.api.messages import Messages
from cdckit.engine.spark.message_rows import PORTION
from cdckit.engine.spark.packets import dumped, messages_of

_QUERY = "sql.streaming.queryId"
"""The property of Spark's jobs that names their streaming query, by the id that its checkpoint has."""
_COLUMNS = tuple(column.name for column in fields(Messages))

Placed = tuple[str, tuple[Any, ...]]
"""A message's columns behind the position that it is sorted by."""


@dataclass(frozen=True, slots=True)
class Share(WriterCommitMessage):
    """One task's.

    Attributes:
        records: how many messages there are.
        packets: has them, where the driver writes them.
        ascending: whether their positions do.
        query: the streaming query's id; "" where this is none's task.
    """

    records: int
    packets: tuple[bytes, ...] = ()
    ascending: bool = True
    query: str = ""


def staged(portions: Iterable[Messages]) -> Share:
    """A task's messages, for the driver."""
    packets, records, order = [], 0, Order()
    for messages in portions:
        packets.append(dumped(messages))
        records += len(messages)
        order.see(messages.positions)
    return Share(records, tuple(packets), order.ascends, query_of_task())


def query_of_task() -> str:
    """The id of the streaming query whose task this is."""
    task = TaskContext.get()
    return "" if task is None else task.getLocalProperty(_QUERY) or ""


class Order:
    """Whether positions ascend; a message without one stands where the one before it does."""

    def __init__(self) -> None:
        self.ascends = True
        self._last = ""

    def see(self, positions: Sequence[str]) -> None:
        """Looks at the next ones."""
        told = [self._last, *filter(None, positions)]
        self.ascends = self.ascends and all(map(str.__le__, told, told[1:]))
        self._last = told[-1]


def in_order(shares: Sequence[Share]) -> Iterator[Messages]:
    """All messages of a batch by their positions; those of the same, or of none, by their tasks' numbers."""
    full = [share for share in shares if share.records]
    if len(full) == 1 and full[0].ascending:
        yield from map(messages_of, full[0].packets)
        return
    rows = merge(*map(_placed, full), key=itemgetter(0))
    while part := [columns for _, columns in islice(rows, PORTION)]:
        yield Messages(*map(list, zip(*part, strict=True)))


def _placed(share: Share) -> Iterable[Placed]:
    rows = _rows(share)
    return rows if share.ascending else sorted(rows, key=itemgetter(0))


def _rows(share: Share) -> Iterator[Placed]:
    last = ""
    for messages in map(messages_of, share.packets):
        columns = zip(*(getattr(messages, name) for name in _COLUMNS), strict=True)
        for position, row in zip(messages.positions, columns, strict=True):
            last = position or last
            yield last, row
