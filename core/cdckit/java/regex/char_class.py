"""Reads a bracketed class: ranges, nested classes, `&&`, predefined classes and quotations."""

from __future__ import annotations

from functools import reduce
from operator import or_

from cdckit.java.regex.char_set import Case, CharSet, one_char
from cdckit.java.regex.error import JavaRegexError
from cdckit.java.regex.scanner import Scanner


class ClassReader:
    """Reads one class, the scanner standing behind its opening bracket.

    Args:
        scanner: the pattern.
        case: whose case is ignored there.
    """

    def __init__(self, scanner: Scanner, case: Case) -> None:
        self._scanner = scanner
        self._case = case

    def read(self) -> str:
        """The class in Python's dialect."""
        negated = self._scanner.take_if("^")
        return self._members().to_python(negated=negated)

    def _members(self) -> CharSet:
        """All up to the closing bracket, intersections applied; one with nothing on a side is none."""
        found = self._union()
        while self._scanner.take_if("&&"):
            # `[a&&]` is `[a]` to Java, and a right side may be all there is.
            if self._scanner.peek() != "]":
                right = self._union()
                found = right if found is None else (found if right is None else found & right)
        if not self._scanner.take_if("]") or found is None:
            raise JavaRegexError("a character class is not closed, or empty")
        return found

    def _union(self) -> CharSet | None:
        """The members up to `&&` or the closing bracket, or None; a bracket that comes first is a member."""
        found = None
        while not self._scanner.done and self._scanner.peek(2) != "&&":
            # Java takes a bracket that comes first for a member, as Python does; one that closes nothing else ends the
            # class.
            if self._scanner.peek() == "]" and found is not None:
                break
            member = self._nested() if self._scanner.take_if("[") else self._item()
            found = member if found is None else found | member
        return found

    def _nested(self) -> CharSet:
        if not self._scanner.take_if("^"):
            return self._members()
        return ~self._members()

    def _item(self) -> CharSet:
        """A predefined set, a quotation, a character or a range."""
        if self._scanner.take_if("\\"):
            if (chosen := self._scanner.escaped_set(self._case)) is not None:
                return chosen
            if (quoted := self._scanner.quoted()) is not None:
                return reduce(or_, (one_char(char, self._case) for char in quoted), CharSet())
            low = self._scanner.escaped_char()
        else:
            low = self._scanner.take()
        if self._scanner.peek() != "-" or self._scanner.peek(2)[1:] in ("", "]", "["):
            return one_char(low, self._case)
        return self._range(low)

    def _range(self, low: str) -> CharSet:
        self._scanner.take()
        high = self._scanner.escaped_char() if self._scanner.take_if("\\") else self._scanner.take()
        if high < low:
            raise JavaRegexError(f"the range '{low}-{high}' in a character class is backwards")
        return CharSet([(ord(low), ord(high))]).in_any_case(self._case)
