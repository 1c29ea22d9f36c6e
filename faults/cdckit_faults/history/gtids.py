"""Sets of MySQL's global transaction identifiers."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GtidSet:
    """Transactions, by the servers that made them."""

    _ranges: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> GtidSet:
        """Reads `UUID:1-5:7,UUID:3`; the UUIDs' letters may be of either case.

        Raises:
            ValueError: it is none.
        """
        found: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for one in filter(None, (part.strip() for part in text.split(","))):
            server, *ranges = one.lower().split(":")
            for span in ranges:
                first, _, last = span.partition("-")
                found[server].append((int(first), int(last or first)))
        return cls({server: sorted(ranges) for server, ranges in found.items()})

    def __contains__(self, gtid: object) -> bool:
        server, _, number = str(gtid).lower().partition(":")
        ranges = self._ranges.get(server)
        if not ranges or not number.isdigit():
            return False
        at = bisect_right(ranges, (int(number), 1 << 64)) - 1
        return at >= 0 and ranges[at][0] <= int(number) <= ranges[at][1]
