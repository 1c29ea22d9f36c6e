"""What both languages do with texts: places and lengths count UTF-16's units, as in Java and JavaScript."""

from __future__ import annotations

from typing import Any

from cdckit.java.regex import JavaRegexError, Replacement, UserPattern, compile_java
from cdckit_transforms.scripting.language import EvaluationError, kind


def text_of(value: Any, method: str) -> str:
    """A value that has to be a text.

    Raises:
        EvaluationError: it is none.
    """
    if not isinstance(value, str):
        raise EvaluationError(f"'{method}' needs a text, and has {kind(value)}")
    return value


def whole(value: Any, method: str) -> int:
    """A value that has to be a whole number; raises as `text_of`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError(f"'{method}' needs a whole number, and has {kind(value)}")
    return value


def length(text: str) -> int:
    """The number of units."""
    return len(text) if text.isascii() else len(_units(text)) // 2


def part(text: str, start: int, end: int) -> str:
    """The units from one place to another."""
    if text.isascii():
        return text[start:end]
    return _units(text)[2 * start : 2 * end].decode("utf-16-be", "surrogatepass")


def place(text: str, sought: str, *, last: bool = False) -> int:
    """Where a text stands in another one first, or last; -1 where it does not."""
    found = text.rfind(sought) if last else text.find(sought)
    return found if found < 0 else length(text[:found])


def before(left: str, right: str) -> int:
    """-1, 0 or 1: whether a text sorts before another one."""
    if left == right:
        return 0
    if left.isascii() and right.isascii():
        return -1 if left < right else 1
    return -1 if _units(left) < _units(right) else 1


def difference(left: str, right: str) -> int:
    """As Java's `compareTo`: between the first units that differ, or else between the lengths."""
    ours, theirs = _units(left), _units(right)
    for at in range(0, min(len(ours), len(theirs)), 2):
        if ours[at : at + 2] != theirs[at : at + 2]:
            return int.from_bytes(ours[at : at + 2], "big") - int.from_bytes(theirs[at : at + 2], "big")
    return (len(ours) - len(theirs)) // 2


def pattern_of(value: Any) -> UserPattern:
    """A Java regular expression that a record is asked with.

    Raises:
        EvaluationError: it is none.
    """
    try:
        return compile_java(text_of(value, "a regular expression"))
    except JavaRegexError as error:
        raise EvaluationError(str(error)) from None


def replaced(text: str, pattern: Any, replacement: Any, *, every: bool) -> str:
    """The text with what a pattern finds replaced; raises as `pattern_of`."""
    found = pattern_of(pattern)
    try:
        by = Replacement(text_of(replacement, "a replacement"), found)
    except JavaRegexError as error:
        raise EvaluationError(str(error)) from None
    return found.replace_all(by, text) if every else found.replace_first(by, text)


def _units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
