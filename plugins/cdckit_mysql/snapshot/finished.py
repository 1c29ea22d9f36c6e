"""Which chunks of a snapshot are finished, as short text: `0-17,19`."""

from __future__ import annotations

from bisect import bisect_right
from typing import Self

from cdckit import StateError


class FinishedChunks:
    """A set of chunks' numbers. They are finished nearly in order, so that it stays a few ranges."""

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads what `str` gave.

        Raises:
            StateError: it is nothing of that kind.
        """
        made = cls()
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            try:
                made._firsts.append(int(first))
                made._lasts.append(int(last or first))
            except ValueError as error:
                raise StateError(f"'{text}' tells of no finished chunks of a snapshot: {error}") from error
        return made

    def add(self, number: int) -> None:
        """One more is finished."""
        if number in self:
            return
        place = bisect_right(self._firsts, number)
        follows = place > 0 and self._lasts[place - 1] == number - 1
        precedes = place < len(self._firsts) and self._firsts[place] == number + 1
        if follows and precedes:
            self._lasts[place - 1] = self._lasts.pop(place)
            del self._firsts[place]
        elif follows:
            self._lasts[place - 1] = number
        elif precedes:
            self._firsts[place] = number
        else:
            self._firsts.insert(place, number)
            self._lasts.insert(place, number)

    def __contains__(self, number: int) -> bool:
        place = bisect_right(self._firsts, number)
        return place > 0 and number <= self._lasts[place - 1]

    def __bool__(self) -> bool:
        return bool(self._firsts)

    def __str__(self) -> str:
        ranges = zip(self._firsts, self._lasts, strict=True)
        return ",".join(f"{first}-{last}" if last > first else str(first) for first, last in ranges)
