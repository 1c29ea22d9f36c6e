"""Sets of characters, and the named ones of Java's patterns.

Names and members: the class documentation of `java.util.regex.Pattern`, Java 21.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from functools import cache

from cdckit.java.regex.error import JavaRegexError

Range = tuple[int, int]
LAST = sys.maxunicode


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


def named_set(name: str, *, ignore_case: bool = False) -> CharSet:
    r"""The set that `\p{name}` means; where case is ignored, one that is a matter of case holds all cases.

    Raises:
        JavaRegexError: it is none of the POSIX classes and Unicode's general categories.
    """
    if name in _POSIX:
        return _POSIX["Alpha" if ignore_case and name in ("Lower", "Upper") else name]
    for prefix in _CATEGORY_PREFIXES:
        category = name.removeprefix(prefix)
        category = "LC" if ignore_case and category in ("Lu", "Ll", "Lt") else category
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
