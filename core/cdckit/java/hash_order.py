"""The order in which Java's hash tables give texts."""

from __future__ import annotations

from collections.abc import Iterable

_ROOM = 16


def text_hash(text: str) -> int:
    """`String.hashCode`, as an unsigned number: over UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    found = 0
    for at in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[at : at + 2], "big")) & 0xFFFFFFFF
    return found


def hash_order(texts: Iterable[str], room: int = _ROOM) -> list[str]:
    """Texts as a `java.util.HashMap` or `HashSet` has them that was filled in this order.

    Args:
        texts: what is filled in.
        room: for how many buckets it was made, a power of two.
    """
    distinct = list(dict.fromkeys(texts))
    while len(distinct) > room * 3 // 4:
        room *= 2
    return sorted(distinct, key=lambda text: _spread(text_hash(text)) & (room - 1))


def _spread(number: int) -> int:
    return number ^ (number >> 16)
