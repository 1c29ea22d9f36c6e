"""Reads a bracketed class: ranges, nested classes, `&&`, predefined classes and quotations."""

from __future__ import annotations

from cdckit.java.regex.char_set import CharSet
from cdckit.java.regex.error import JavaRegexError
from cdckit.java.regex.scanner import Scanner


class ClassReader:
    """Reads one class, the scanner standing behind its opening bracket.

    Args:
        scanner: the pattern.
        ignore_case: whether case is ignored there: a nested complement cannot be told apart from its cases then.
    """

    def __init__(self, scanner: Scanner, *, ignore_case: bool) -> None:
        self._scanner = scanner
        self._ignore_case = ignore_case

    def read(self) -> str:
        """The class in Python's dialect."""
        negated = self._scanner.take_if("^")
        return self._members().to_python(negated=negated)

    def _members(self) -> CharSet:
        """All up to the closing bracket, intersections applied; one with nothing on a side is none."""
        found = self._union()
        while self._scanner.take_if("&&"):
            self._refuse_under_ignore_case("an intersection ('&&')")
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
            if self._scanner.peek() == "]" and found is not None:
                break
            member = self._nested() if self._scanner.take_if("[") else self._item()
            found = member if found is None else found | member
        return found

    def _nested(self) -> CharSet:
        if not self._scanner.take_if("^"):
            return self._members()
        self._refuse_under_ignore_case("a negated class inside a class")
        return ~self._members()

    def _item(self) -> CharSet:
        """A predefined set, a quotation, a character or a range."""
        if self._scanner.take_if("\\"):
            if (chosen := self._scanner.escaped_set(ignore_case=self._ignore_case)) is not None:
                return chosen
            if (quoted := self._scanner.quoted()) is not None:
                return CharSet.of(*quoted)
            low = self._scanner.escaped_char()
        else:
            low = self._scanner.take()
        if self._scanner.peek() != "-" or self._scanner.peek(2)[1:] in ("", "]", "["):
            return CharSet.of(low)
        return self._range(low)

    def _range(self, low: str) -> CharSet:
        self._scanner.take()
        high = self._scanner.escaped_char() if self._scanner.take_if("\\") else self._scanner.take()
        if high < low:
            raise JavaRegexError(f"the range '{low}-{high}' in a character class is backwards")
        return CharSet([(ord(low), ord(high))])

    def _refuse_under_ignore_case(self, what: str) -> None:
        if self._ignore_case:
            raise JavaRegexError(f"{what} is not supported where case is ignored")
