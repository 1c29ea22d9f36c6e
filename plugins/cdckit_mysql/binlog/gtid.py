"""GTID sets of MySQL, tags included, and of MariaDB.

Formats: MySQL reference manual, "GTID Format and Storage"; the wire form is that of COM_BINLOG_DUMP_GTID and of
PREVIOUS_GTIDS. MariaDB knowledge base, "Global Transaction ID".
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Self
from uuid import UUID

_U64 = struct.Struct("<Q")
_INTERVAL = struct.Struct("<QQ")
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}", re.ASCII)
_TAGGED_FORMAT = 1


class TransactionSource(NamedTuple):
    """Who numbers a transaction: a server's UUID, and a tag or the empty string."""

    uuid: str
    tag: str = ""

    @classmethod
    def of_bytes(cls, uuid: bytes, tag: bytes = b"") -> Self:
        """The one that the log tells of.

        Raises:
            ValueError: it is none.
        """
        text = tag.decode("ascii")
        if text and not _TAG.fullmatch(text):
            raise ValueError(f"{text!r} is no tag of a transaction")
        return cls(str(UUID(bytes=uuid)), text)

    def __str__(self) -> str:
        return f"{self.uuid}:{self.tag}" if self.tag else self.uuid


class GtidSet:
    """A set of MySQL's transaction identifiers: intervals of numbers, both ends inside, for each source."""

    __slots__ = ("_intervals",)

    def __init__(self, intervals: Mapping[TransactionSource, list[tuple[int, int]]] | None = None) -> None:
        self._intervals: dict[TransactionSource, list[tuple[int, int]]] = {}
        for source, pairs in (intervals or {}).items():
            for first, last in pairs:
                self.add(source, first, last)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `UUID[:TAG]:N[-M][:N[-M]…][:TAG:…][,UUID…]`; white space is ignored.

        Raises:
            ValueError: the text is no GTID set.
        """
        made = cls()
        for member in filter(None, "".join(text.split()).split(",")):
            uuid, _, rest = member.partition(":")
            source = TransactionSource(str(UUID(uuid)))
            for part in rest.lower().split(":"):
                if _TAG.fullmatch(part):
                    source = TransactionSource(source.uuid, part)
                else:
                    first, _, last = part.partition("-")
                    made.add(source, int(first), int(last or first))
        return made

    def add(self, source: TransactionSource, first: int, last: int | None = None) -> None:
        """Put in the transactions `first` to `last` (or just `first`) of a source.

        Raises:
            ValueError: the interval is empty or starts below 1.
        """
        last = first if last is None else last
        if not 1 <= first <= last:
            raise ValueError(f"{source}: {first}-{last} is no interval of transactions")
        pairs = self._intervals.setdefault(source, [])
        # Nearly every transaction follows its source's last one; this is once a commit.
        if pairs and pairs[-1][1] + 1 == first:
            pairs[-1] = (pairs[-1][0], last)
            return
        low = bisect_left(pairs, first - 1, key=lambda pair: pair[1])
        high = bisect_right(pairs, last + 1, key=lambda pair: pair[0])
        if low < high:
            first, last = min(first, pairs[low][0]), max(last, pairs[high - 1][1])
        pairs[low:high] = [(first, last)]

    def sources(self) -> Iterator[tuple[TransactionSource, list[tuple[int, int]]]]:
        """Each source with its intervals, sorted."""
        return iter(sorted(self._intervals.items()))

    def contains(self, source: TransactionSource, number: int) -> bool:
        """Whether one transaction is in the set."""
        pairs = self._intervals.get(source, [])
        at = bisect_left(pairs, number, key=lambda pair: pair[1])
        return at < len(pairs) and pairs[at][0] <= number

    def of(self, wanted: Callable[[TransactionSource], bool]) -> GtidSet:
        """The transactions of some sources."""
        return GtidSet({source: pairs for source, pairs in self._intervals.items() if wanted(source)})

    @property
    def size(self) -> int:
        """How many transactions are in the set."""
        return sum(last - first + 1 for pairs in self._intervals.values() for first, last in pairs)

    def issuperset(self, other: GtidSet) -> bool:
        """Whether every transaction of `other` is in this set."""
        return not other - self

    def __or__(self, other: GtidSet) -> GtidSet:
        union = self.copy()
        for source, pairs in other._intervals.items():
            for first, last in pairs:
                union.add(source, first, last)
        return union

    def __and__(self, other: GtidSet) -> GtidSet:
        return self - (self - other)

    def __sub__(self, other: GtidSet) -> GtidSet:
        rest = GtidSet()
        for source, pairs in self._intervals.items():
            taken = other._intervals.get(source, [])
            left = [part for pair in pairs for part in _without(pair, taken)]
            if left:
                rest._intervals[source] = left
        return rest

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GtidSet) and self._intervals == other._intervals

    __hash__ = None  # type: ignore[assignment]  # changes in place

    def __bool__(self) -> bool:
        return bool(self._intervals)

    def copy(self) -> GtidSet:
        """The same set, to be changed without this one."""
        made = GtidSet()
        made._intervals = {source: list(pairs) for source, pairs in self._intervals.items()}
        return made

    def __str__(self) -> str:
        members: dict[str, str] = {}
        for source, pairs in self.sources():
            text = "".join(f":{first}" if first == last else f":{first}-{last}" for first, last in pairs)
            tag = f":{source.tag}" if source.tag else ""
            members[source.uuid] = members.get(source.uuid, source.uuid) + tag + text
        return ",".join(members.values())

    def __repr__(self) -> str:
        return f"GtidSet({str(self)!r})"

    def to_wire(self) -> bytes:
        """The set as COM_BINLOG_DUMP_GTID carries it; servers before 8.3 do not know the form with tags."""
        tagged = any(source.tag for source in self._intervals)
        count = len(self._intervals)
        parts = [_U64.pack(_TAGGED_FORMAT << 56 | count << 8 | _TAGGED_FORMAT if tagged else count)]
        for source, pairs in self.sources():
            parts.append(UUID(source.uuid).bytes)
            if tagged:
                parts.append(bytes([len(source.tag) << 1]) + source.tag.encode("ascii"))
            parts.append(_U64.pack(len(pairs)))
            # On the wire intervals end behind their last number; as text they end with it.
            parts.extend(_INTERVAL.pack(first, last + 1) for first, last in pairs)
        return b"".join(parts)

    @classmethod
    def from_wire(cls, data: bytes) -> Self:
        """Read what `to_wire` writes, as in PREVIOUS_GTIDS."""
        (head,) = _U64.unpack_from(data)
        tagged = head >> 56 == _TAGGED_FORMAT
        count = head >> 8 & 0xFFFFFFFFFFFF if tagged else head
        made, at = cls(), 8
        for _ in range(count):
            uuid, at, tag = data[at : at + 16], at + 16, b""
            if tagged:
                size = data[at] >> 1
                tag, at = data[at + 1 : at + 1 + size], at + 1 + size
            source = TransactionSource.of_bytes(uuid, tag)
            (pairs,) = _U64.unpack_from(data, at)
            at += 8
            for first, end in _INTERVAL.iter_unpack(data[at : at + pairs * _INTERVAL.size]):
                made.add(source, first, end - 1)
            at += pairs * _INTERVAL.size
        return made


def _without(pair: tuple[int, int], taken: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """What is left of an interval when the sorted intervals `taken` are cut out."""
    first, last = pair
    for low, high in taken[bisect_left(taken, first, key=lambda cut: cut[1]) :]:
        if low > last:
            break
        if first < low:
            yield first, low - 1
        first = high + 1
    if first <= last:
        yield first, last


class MariaDbGtidSet:
    """MariaDB's position: the last transaction of each replication domain, `DOMAIN-SERVER-SEQUENCE,…`."""

    __slots__ = ("_last",)

    def __init__(self, last: Mapping[int, tuple[int, int]] | None = None) -> None:
        self._last = dict(last or {})

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `0-1-42,1-2-7`.

        Raises:
            ValueError: the text is no list of MariaDB's GTIDs.
        """
        made = cls()
        for member in filter(None, "".join(text.split()).split(",")):
            domain, server, sequence = map(int, member.split("-"))
            made.add(domain, server, sequence)
        return made

    def add(self, domain: int, server: int, sequence: int) -> None:
        """Note a transaction as its domain's last."""
        self._last[domain] = (server, sequence)

    def domains(self) -> Iterator[tuple[int, tuple[int, int]]]:
        """Each domain with the server and the number of its last transaction, sorted."""
        return iter(sorted(self._last.items()))

    def contains(self, domain: int, sequence: int) -> bool:
        """Whether a transaction is no newer than its domain's last one."""
        # A domain has one order over all servers that write in it, so the sequence alone tells.
        return domain in self._last and sequence <= self._last[domain][1]

    def issuperset(self, other: MariaDbGtidSet) -> bool:
        """Whether no domain's last transaction in `other` is newer than in this position."""
        return all(self.contains(domain, sequence) for domain, (_, sequence) in other._last.items())

    def copy(self) -> MariaDbGtidSet:
        """The same position, to be changed without this one."""
        return MariaDbGtidSet(self._last)

    def __bool__(self) -> bool:
        return bool(self._last)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MariaDbGtidSet) and self._last == other._last

    __hash__ = None  # type: ignore[assignment]  # changes in place

    def __str__(self) -> str:
        return ",".join(f"{domain}-{server}-{sequence}" for domain, (server, sequence) in sorted(self._last.items()))

    def __repr__(self) -> str:
        return f"MariaDbGtidSet({str(self)!r})"
