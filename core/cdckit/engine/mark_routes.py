"""Where marks go: to the topics that the rows of their table arrive at, behind all transforms.

Transforms know nothing of marks. They are given example records of the table, whose values are ones that rows may have.
Where a table's definition is not known these say no more than its topic: a transform that wants more is passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from cdckit.api.marks import RoutedMark, TableExample, TableMark
from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.engine.chain import TransformChain
from cdckit.errors import TransformError

_KEPT = 10_000
"""So many tables' topics are remembered."""


class _Route(NamedTuple):
    """What reaches one topic."""

    record: Record
    scope: Mapping[str, Any]


class MarkRoutes:
    """Finds the topics of marks.

    Args:
        chain: the pipeline's transforms.
    """

    def __init__(self, chain: TransformChain) -> None:
        self._chain = chain
        self._steps = [TransformChain([step]) for step in chain.steps]
        self._topics: dict[tuple[str, str], frozenset[str]] = {}
        self._captured: Callable[[], Iterable[TableExample]] | None = None
        self._tables: dict[str, list[str]] = {}

    def of(self, mark: TableMark) -> Iterator[RoutedMark]:
        """The mark, once for each topic that the table's rows arrive at.

        Raises:
            TransformError: a transform failed on an example.
        """
        before = self._routes(mark.before) if mark.before is not None else {}
        for topic, route in self._routes(mark.example).items():
            others = () if route.scope else self._sharing(mark, topic)
            sharing = tuple(sorted(table for table in others if table != mark.table))
            if mark.of_shared is not None and mark.of_shared != bool(sharing):
                continue
            earlier = before[topic].record if topic in before else None
            yield RoutedMark(mark, topic, route.scope, sharing, route.record, earlier)

    def _sharing(self, mark: TableMark, topic: str) -> Sequence[str]:
        """The captured tables whose rows arrive at a topic; the marks of one snapshot ask for the same ones."""
        if mark.captured is not self._captured:
            self._captured, self._tables = mark.captured, {}
            for example in mark.captured():
                for one in self._topics_of(example):
                    self._tables.setdefault(one, []).append(example.table)
        return self._tables.get(topic, ())

    def _topics_of(self, example: TableExample) -> frozenset[str]:
        place = example.table, example.records[0].topic
        if place not in self._topics:
            if len(self._topics) >= _KEPT:
                self._topics.clear()
            self._topics[place] = frozenset(self._routes(example))
        return self._topics[place]

    def _routes(self, example: TableExample) -> dict[str, _Route]:
        first, second = (self._applied(record, example.table) for record in example.records)
        own = _columns(example.records[0])
        return {
            topic: _Route(record, _scope(own, record, second[topic]) if topic in first and topic in second else {})
            for topic, record in {**second, **first}.items()
        }

    def _applied(self, record: Record, table: str) -> dict[str, Record]:
        if record.value is None:
            return {made.topic: made for made in self._passed(record)}
        try:
            return {made.topic: made for made in self._chain.apply([record])}
        except TransformError as error:
            raise TransformError(
                f"{error} (the record is an example of table {table}, made to find where its rows go)"
            ) from error

    def _passed(self, record: Record) -> Sequence[Record]:
        """What the transforms make of a record that is a topic alone."""
        records: Sequence[Record] = [record]
        for step in self._steps:
            with suppress(TransformError):
                records = step.apply(records)
        return records


def _columns(record: Record) -> frozenset[str]:
    """The names of the table's columns, as its events have them."""
    after = record.value.get("after") if isinstance(record.value, Struct) else None
    return frozenset(after.schema.index) if isinstance(after, Struct) else frozenset()


def _scope(own: frozenset[str], record: Record, other: Record) -> dict[str, Any]:
    """The members of the key that are no columns and are the same for two rows without a value in common."""
    if not isinstance(record.key, Struct) or not isinstance(other.key, Struct):
        return {}
    key = other.key
    return {
        field.name: value
        for field, value in zip(record.key.schema.fields, record.key.values, strict=True)
        if isinstance(value, str | int) and field.name not in own and field.name in key and key[field.name] == value
    }
