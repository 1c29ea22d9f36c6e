"""Both sides' entries of one bucket, folded to the newest of each key and compared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy
from numpy.typing import NDArray

from cdckit.engine.proof.entries import EMPTIED, GONE, ROW, Entry, PlacedEntry
from cdckit.engine.proof.hashing import SIZE

Rows = dict[bytes, tuple[bytes, int]]
"""By the hashes of keys: the hash of the newest row, and the number of its topic."""

Fault = Literal["missing", "extra", "changed", "doubled"]


class Mismatch(NamedTuple):
    """A key that the two sides do not agree about.

    Attributes:
        key: its hash.
        topic: its topic's number.
        fault: what the sink has against the source.
        source: the hash of the source's row; None: it has none.
        sink: the hash of the sink's row; None: it has none.
        moved: whether the row changed at the source since the point of comparison, so that the sink may be right.
    """

    key: bytes
    topic: int
    fault: Fault
    source: bytes | None
    sink: bytes | None
    moved: bool

    def same_as(self, other: Mismatch | None) -> bool:
        """Whether neither side has moved between two rounds."""
        return other is not None and other[:5] == self[:5]


@dataclass(slots=True)
class Folded:
    """The newest row of each key.

    Attributes:
        rows: those that there are.
        doubled: keys that came twice with one position, or twice in a table of one row a key.
    """

    rows: Rows = field(default_factory=dict)
    doubled: set[bytes] = field(default_factory=set)


def fold(entries: Iterable[Entry], *, once: bool = False) -> Folded:
    """The last entry of each key.

    Args:
        entries: of one bucket.
        once: whether a key may come only once.
    """
    folded = Folded()
    rows = folded.rows
    for key, row, topic, kind in entries:
        if kind == ROW:
            if once and key in rows:
                folded.doubled.add(key)
            rows[key] = row, topic
        elif kind == GONE:
            rows.pop(key, None)
        else:
            _empty(rows, topic)
    return folded


def _empty(rows: Rows, topic: int) -> None:
    for key in [key for key, (_, of) in rows.items() if of == topic]:
        del rows[key]


def rows_of_equal(source: bytes, sink: bytes) -> Mapping[int, int] | None:
    """By topic how many rows both sides of one bucket have, where they have the same ones, each key once.

    Args:
        source: the entries, of those that keep no position.
        sink: the same.

    Returns:
        None where that cannot be seen at a glance.
    """
    if len(source) != len(sink):
        return None
    ours, theirs = _sorted(source), _sorted(sink)
    begins = ours["begin"]
    # What only begins as another key does is told by a closer look, too: nobody meets that but for one key twice.
    if ours.tobytes() != theirs.tobytes() or (begins[1:] == begins[:-1]).any():
        return None
    if ours["kind"].any():
        return None
    topics, counts = numpy.unique(ours["topic"], return_counts=True)
    return dict(zip(topics.tolist(), counts.tolist(), strict=True))


def _sorted(entries: bytes) -> NDArray[Any]:
    found = numpy.frombuffer(entries, _FIELDS)
    return found[found["begin"].argsort()]


_FIELDS = numpy.dtype([("begin", "<u8"), ("hashes", f"V{2 * SIZE - 8}"), ("topic", "<u4"), ("kind", "u1")])
"""An entry, as `PLAIN` has it: how the key's hash begins, the rest of both hashes, topic and kind; `ROW` is 0."""


def fold_placed(entries: Iterable[PlacedEntry], *, once: bool) -> Folded:
    """The entry of each key that has the newest position.

    Args:
        entries: of one bucket, in any order.
        once: whether a key may come only once with each position.
    """
    newest: dict[bytes, PlacedEntry] = {}
    emptied: dict[int, bytes] = {}
    folded = Folded()
    for entry in entries:
        key, _, topic, kind, position = entry
        if kind == EMPTIED:
            emptied[topic] = max(position, emptied.get(topic, b""))
            continue
        known = newest.get(key)
        if once and known is not None and known[4] == position:
            folded.doubled.add(key)
        if known is None or known[4] <= position:
            newest[key] = entry
    for key, (_, row, topic, kind, position) in newest.items():
        if kind == ROW and position >= emptied.get(topic, b""):
            folded.rows[key] = row, topic
    folded.doubled &= folded.rows.keys()
    return folded


def versions(entries: Iterable[Entry], topics: Collection[int] | None = None) -> dict[bytes, set[bytes | None]]:
    """By key, the rows that there were one after another; None among them where there was none.

    Args:
        entries: of one bucket.
        topics: the numbers of the topics that count; None: all.
    """
    found: dict[bytes, set[bytes | None]] = {}
    for key, row, topic, kind in entries:
        if kind != EMPTIED and (topics is None or topic in topics):
            found.setdefault(key, set()).add(row if kind == ROW else None)
    return found


def mismatches(source: Rows, sink: Folded, later: dict[bytes, set[bytes | None]]) -> Iterator[Mismatch]:
    """What the sink has otherwise than the source in one bucket.

    Args:
        source: the rows at the point of comparison.
        sink: what it holds at some time behind that.
        later: the rows that there were from then on until the sink was read: it may have any of them.
    """
    held = sink.rows
    if not sink.doubled and source == held:
        return
    for key in sorted(source.keys() | held.keys()):  # two rounds are to meet the same ones first
        row, topic = source.get(key, _NONE)
        other, other_topic = held.get(key, _NONE)
        doubled = key in sink.doubled
        if row == other and not doubled:
            continue
        then = later.get(key, ())
        if other in then and not doubled:
            continue
        number = topic if row is not None else other_topic
        yield Mismatch(key, number, _fault(row, other, doubled=doubled), row, other, bool(then))


_NONE: tuple[None, int] = (None, -1)


def _fault(source: bytes | None, sink: bytes | None, *, doubled: bool) -> Fault:
    if sink is None:
        return "missing"
    if source is None:
        return "extra"
    return "doubled" if doubled and source == sink else "changed"
