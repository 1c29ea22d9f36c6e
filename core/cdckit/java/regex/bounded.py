"""A pattern of a user's, which matches in bounded time whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import regex

from cdckit.errors import ConfigError

_SECONDS = 2.0
"""Of processor time: a name is matched in microseconds. Nested repetitions can need longer than anyone lives."""
_SHOWN = 80


class Found(Protocol):
    """What a pattern has found."""

    def __getitem__(self, group: int, /) -> str | None:
        """The text of a group."""


class UserPattern:
    """A compiled pattern.

    Args:
        pattern: in Python's dialect.
        source: as the user has written it.
        option: whose value it is, for messages; "" where that is not known.
        ignore_case: whether the case of ASCII's letters does not matter.

    Raises:
        regex.error: it is no pattern.
    """

    __slots__ = ("_option", "_pattern", "source")

    def __init__(self, pattern: str, source: str, option: str = "", *, ignore_case: bool = False) -> None:
        # VERSION0 is `re`'s syntax: what is translated has no set operations or nested sets left that VERSION1 would
        # read.
        flags = regex.ASCII | regex.VERSION0 | (regex.IGNORECASE if ignore_case else 0)
        self._pattern = regex.compile(pattern, flags)
        self._option = option
        self.source = source

    @property
    def groups(self) -> int:
        """How many groups it has."""
        return int(self._pattern.groups)

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The numbers of its named groups."""
        return dict(self._pattern.groupindex)

    def fullmatch(self, text: str) -> bool:
        """Whether it matches all of the text.

        Raises:
            ConfigError: it takes too long.
        """
        try:
            return self._pattern.fullmatch(text, timeout=_SECONDS) is not None
        except TimeoutError:
            raise self._too_slow(text) from None

    def found(self, text: str) -> bool:
        """Whether it matches somewhere in the text; raises as `fullmatch`."""
        try:
            return self._pattern.search(text, timeout=_SECONDS) is not None
        except TimeoutError:
            raise self._too_slow(text) from None

    def split(self, text: str) -> list[str]:
        """The parts of the text between what it finds; raises as `fullmatch`."""
        parts: list[str] = []
        end = 0
        try:
            for found in self._pattern.finditer(text, timeout=_SECONDS):
                # Java's `split` gives no empty text before a match of nothing at the begin.
                if found.end() > 0:
                    parts.append(text[end : found.start()])
                    end = found.end()
        except TimeoutError:
            raise self._too_slow(text) from None
        return [*parts, text[end:]]

    def replace_all(self, replacement: Callable[[Found], str], text: str) -> str:
        """The text with all places that it finds replaced; raises as `fullmatch`."""
        try:
            return str(self._pattern.sub(replacement, text, timeout=_SECONDS))
        except TimeoutError:
            raise self._too_slow(text) from None

    def replace_first(self, replacement: Callable[[Found], str], text: str) -> str:
        """The text with the first place that it finds replaced; raises as `fullmatch`."""
        try:
            return str(self._pattern.sub(replacement, text, count=1, timeout=_SECONDS))
        except TimeoutError:
            raise self._too_slow(text) from None

    def _too_slow(self, text: str) -> ConfigError:
        where = f"{self._option}: " if self._option else ""
        return ConfigError(
            f"{where}the pattern '{self.source[:_SHOWN]}' takes more than {_SECONDS:g} s to match '{text[:_SHOWN]}': "
            "write it without repetitions inside of repetitions, such as (a*)*"
        )
