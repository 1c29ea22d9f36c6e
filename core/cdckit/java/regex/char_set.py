"""Sets of characters, and the named ones of Java's patterns.

Names and members: the class documentation of `java.util.regex.Pattern`, Java 21.
"""

from __future__ import annotations

import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from typing import Literal

from cdckit.java.regex.error import JavaRegexError

Range = tuple[int, int]
LAST = sys.maxunicode

Case = Literal["kept", "ascii", "unicode"]
"""Which letters' case is ignored: none, ASCII's (Java's CASE_INSENSITIVE), all (with UNICODE_CASE)."""


class CharSet:
    """An immutable set of characters, as sorted ranges that do not touch each other."""

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        merged: list[Range] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(merged[-1][1], high))
            else:
                merged.append((low, high))
        self.ranges = tuple(merged)

    @classmethod
    def of(cls, *spans: str) -> CharSet:
        """A set from single characters and spans such as `az`."""
        return cls((ord(span[0]), ord(span[-1])) for span in spans)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet(self.ranges + other.ranges)

    def __and__(self, other: CharSet) -> CharSet:
        return ~(~self | ~other)

    def __invert__(self) -> CharSet:
        gaps = []
        begin = 0
        for low, high in self.ranges:
            if begin < low:
                gaps.append((begin, low - 1))
            begin = high + 1
        if begin <= LAST:
            gaps.append((begin, LAST))
        return CharSet(gaps)

    @property
    def is_one(self) -> bool:
        """Whether it holds one character."""
        return len(self.ranges) == 1 and self.ranges[0][0] == self.ranges[0][1]

    def in_any_case(self, case: Case) -> CharSet:
        """The set with what differs from its members in case alone."""
        if case == "kept":
            return self
        if case == "ascii":
            shifted = [(low - 32, high - 32) for low, high in (self & _SMALL).ranges]
            return CharSet([*self.ranges, *shifted, *((low + 32, high + 32) for low, high in (self & _CAPITAL).ranges)])
        begins = [low for low, _ in self.ranges]

        def has(code: int) -> bool:
            place = bisect_right(begins, code) - 1
            return place >= 0 and code <= self.ranges[place][1]

        return self | CharSet((code, code) for code, *others in _with_cases() if any(map(has, others)))

    def to_python(self, *, negated: bool = False) -> str:
        """The set, or all that is not in it, as a class of Python's `re`."""
        if not self.ranges:
            return r"[\x00-\U0010ffff]" if negated else "(?!)"
        spans = (_char(low) if low == high else f"{_char(low)}-{_char(high)}" for low, high in self.ranges)
        return f"[{'^' if negated else ''}{''.join(spans)}]"


def _char(code: int) -> str:
    char = chr(code)
    if char.isascii() and (char.isalnum() or char == "_"):
        return char
    return f"\\x{code:02x}" if code <= 0xFF else f"\\U{code:08x}"


_SMALL, _CAPITAL = CharSet.of("az"), CharSet.of("AZ")


@cache
def _with_cases() -> tuple[tuple[int, int, int], ...]:
    """The characters that have cases, each with the capital one and the small one of that, as Java finds them."""
    found = []
    for code in range(LAST + 1):
        char = chr(code)
        capital = _alone(char, char.upper())
        small = _alone(capital, capital.lower())
        if capital != char or small != char:
            found.append((code, ord(capital), ord(small)))
    return tuple(found)


def _alone(char: str, other: str) -> str:
    """The other case of a character, where that is one character."""
    return other if len(other) == 1 else char


def one_char(char: str, case: Case) -> CharSet:
    """A character, and what differs from it in case alone."""
    if case != "unicode":
        return CharSet.of(char).in_any_case(case)
    capital = _alone(char, char.upper())
    return CharSet.of(char, capital, _alone(capital, capital.lower())).in_any_case(case)


DIGIT = CharSet.of("09")
WORD = CharSet.of("az", "AZ", "09", "_")
SPACE = CharSet.of("\t\r", " ")
HORIZONTAL_SPACE = CharSet.of(" ", "\t", "\xa0", "\u1680", "\u180e", "\u2000\u200a", "\u202f", "\u205f", "\u3000")
VERTICAL_SPACE = CharSet.of("\n\r", "\x85", "\u2028\u2029")
LINE_END = CharSet.of("\n", "\r", "\x85", "\u2028\u2029")

PREDEFINED = {"d": DIGIT, "w": WORD, "s": SPACE, "h": HORIZONTAL_SPACE, "v": VERTICAL_SPACE}
"""The sets behind a backslash and a small letter; the capital letter is all the rest."""

_PUNCT = CharSet.of("!/", ":@", "[`", "{~")
_ALNUM = CharSet.of("az", "AZ", "09")
_POSIX = {
    "Lower": CharSet.of("az"),
    "Upper": CharSet.of("AZ"),
    "ASCII": CharSet.of("\x00\x7f"),
    "Alpha": CharSet.of("az", "AZ"),
    "Digit": DIGIT,
    "Alnum": _ALNUM,
    "Punct": _PUNCT,
    "Graph": _ALNUM | _PUNCT,
    "Print": _ALNUM | _PUNCT | CharSet.of(" "),
    "Blank": CharSet.of(" ", "\t"),
    "Cntrl": CharSet.of("\x00\x1f", "\x7f"),
    "XDigit": CharSet.of("09", "af", "AF"),
    "Space": SPACE,
    "L1": CharSet.of("\x00\xff"),
    "all": CharSet([(0, LAST)]),
}
_CATEGORY_PREFIXES = ("Is", "general_category=", "gc=")


def named_set(name: str, case: Case) -> CharSet:
    r"""The set that `\p{name}` means; where case is ignored, one that is a matter of case holds all cases.

    Raises:
        JavaRegexError: it is none of the POSIX classes and Unicode's general categories.
    """
    if name in _POSIX:
        return _POSIX["Alpha" if case != "kept" and name in ("Lower", "Upper") else name]
    for prefix in _CATEGORY_PREFIXES:
        category = name.removeprefix(prefix)
        category = "LC" if case != "kept" and category in ("Lu", "Ll", "Lt") else category
        if category in _categories():
            return _categories()[category]
    raise JavaRegexError(
        f"the character class '\\p{{{name}}}' is not supported; POSIX classes such as \\p{{Alpha}} and Unicode "
        "categories such as \\p{Lu} are"
    )


@cache
def _categories() -> dict[str, CharSet]:
    """Unicode's general categories by their one or two letters."""
    ranges: dict[str, list[Range]] = {}
    begin, current = 0, unicodedata.category("\0")
    for code in range(1, LAST + 2):
        category = unicodedata.category(chr(code)) if code <= LAST else ""
        if category != current:
            ranges.setdefault(current, []).append((begin, code - 1))
            ranges.setdefault(current[0], []).append((begin, code - 1))
            begin, current = code, category
    ranges["LC"] = ranges["Lu"] + ranges["Ll"] + ranges["Lt"]
    return {name: CharSet(found) for name, found in ranges.items()}
