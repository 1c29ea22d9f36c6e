"""A Java pattern in Python's dialect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

import regex

from cdckit.java.regex.bounded import UserPattern
from cdckit.java.regex.char_class import ClassReader
from cdckit.java.regex.char_set import LINE_END, VERTICAL_SPACE, CharSet
from cdckit.java.regex.error import JavaRegexError
from cdckit.java.regex.scanner import Scanner

_REPETITION = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_GROUP_NAME = re.compile(r"\?<([a-zA-Z][a-zA-Z0-9]*)>")
_PLAIN_GROUP = re.compile(r"\?(?:[:=!>]|<[=!])")
_FLAGS = re.compile(r"\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_BACK_REFERENCE = re.compile(r"k<([a-zA-Z][a-zA-Z0-9]*)>")

_BEFORE_LAST_LINE_END = rf"(?=(?:\r\n|(?<!\r)\n|{(LINE_END & ~CharSet.of(chr(10))).to_python()})?\Z)"
_ESCAPES = {
    "A": r"\A",
    "B": r"(?!\b)",
    "b": r"\b",
    "z": r"\Z",
    "Z": _BEFORE_LAST_LINE_END,
    "R": rf"(?>\r\n|{VERTICAL_SPACE.to_python()})",
}
_FLAGS_KNOWN = {"i": "case is ignored", "s": "'.' matches line ends", "u": "case is Unicode's"}


@lru_cache(maxsize=512)
def compile_java(pattern: str, *, ignore_case: bool = False, option: str = "") -> UserPattern:
    r"""The pattern, ready for use; `\d`, `\w`, `\s` and the ignoring of case are ASCII's, as in Java.

    Args:
        pattern: as `java.util.regex.Pattern` takes it.
        ignore_case: as under Java's flag CASE_INSENSITIVE.
        option: whose value it is, for messages.

    Raises:
        JavaRegexError: Java refuses the pattern, or Python cannot say it.
    """
    translated = _Translator(pattern, ignore_case=ignore_case).translate()
    try:
        re.compile(translated, re.ASCII)  # tells better what is wrong
        return UserPattern(translated, pattern, option, ignore_case=ignore_case)
    except (re.error, regex.error, OverflowError) as error:
        raise JavaRegexError(f"'{pattern}' is no regular expression that can be used: {error}") from None


@dataclass(slots=True)
class _Frame:
    """An open group: the flags in force, and the scopes that flags in its middle have opened."""

    flags: frozenset[str]
    scopes: list[str] = field(default_factory=list)


class _Translator:
    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self._scanner = Scanner(pattern)
        self._frames = [_Frame(frozenset("i" if ignore_case else ""))]
        self._groups = 0
        self._out: list[str] = []

    def translate(self) -> str:
        while not self._scanner.done:
            self._out.append(self._next())
        if len(self._frames) > 1:
            raise JavaRegexError("a group is not closed: ')' is missing")
        return "".join(self._out) + self._close_scopes()

    @property
    def _ignore_case(self) -> bool:
        return "i" in self._frames[-1].flags

    def _next(self) -> str:
        char = self._scanner.take()
        match char:
            case "\\":
                return self._escape()
            case "[":
                return ClassReader(self._scanner, ignore_case=self._ignore_case).read()
            case "(":
                return self._open_group()
            case ")":
                return self._close_group()
            case "|":
                return f"{self._close_scopes()}|{''.join(self._frames[-1].scopes)}"
            case ".":
                return r"(?s:.)" if "s" in self._frames[-1].flags else LINE_END.to_python(negated=True)
            case "$":
                return _BEFORE_LAST_LINE_END
            case "{":
                return self._repetition()
            case _:
                return char

    def _escape(self) -> str:
        scanner = self._scanner
        if (quoted := scanner.quoted()) is not None:
            return re.escape(quoted)
        if (chosen := scanner.escaped_set(ignore_case=self._ignore_case)) is not None:
            return chosen.to_python()
        if reference := scanner.match(_BACK_REFERENCE):
            return f"(?P={reference[1]})"
        if scanner.peek() in "123456789" and not scanner.done:
            return self._back_reference()
        if scanner.peek(3) == "b{g":
            raise JavaRegexError(r"'\b{g}' is not supported")
        if scanner.peek() in _ESCAPES:
            return _ESCAPES[scanner.take()]
        if scanner.peek() in ("G", "X"):
            raise JavaRegexError(f"'\\{scanner.peek()}' is not supported")
        return re.escape(scanner.escaped_char())

    def _back_reference(self) -> str:
        """A group's number: as many digits as there are groups for."""
        number = int(self._scanner.take())
        while self._scanner.peek().isdecimal() and number * 10 + int(self._scanner.peek()) <= self._groups:
            number = number * 10 + int(self._scanner.take())
        return f"(?:\\{number})"

    def _repetition(self) -> str:
        self._scanner.at -= 1
        found = self._scanner.match(_REPETITION)
        if not found:
            raise JavaRegexError(
                rf"'{{' at index {self._scanner.at} is no repetition; write '\{{' for the brace itself"
            )
        return found[0]

    def _open_group(self) -> str:
        flags = self._frames[-1].flags
        if self._scanner.peek() != "?":
            return self._open("(", flags)
        if plain := self._scanner.match(_PLAIN_GROUP):
            return self._open(f"({plain[0]}", flags, counted=False)
        if named := self._scanner.match(_GROUP_NAME):
            return self._open(f"(?P<{named[1]}>", flags)
        given = self._scanner.match(_FLAGS)
        if not given:
            raise JavaRegexError(f"'({self._scanner.peek(3)}' at index {self._scanner.at - 1} opens no known group")
        return self._flags(given[1], given[2] or "", alone=given[3] == ")")

    def _open(self, text: str, flags: frozenset[str], *, counted: bool = True) -> str:
        self._groups += counted
        self._frames.append(_Frame(flags))
        return text

    def _close_group(self) -> str:
        if len(self._frames) == 1:
            raise JavaRegexError(f"')' at index {self._scanner.at - 1} closes no group")
        closed = self._close_scopes()
        self._frames.pop()
        return f"{closed})"

    def _close_scopes(self) -> str:
        return ")" * len(self._frames[-1].scopes)

    def _flags(self, on: str, off: str, *, alone: bool) -> str:
        """Flags for the rest of the group (`(?i)`), or for a group of their own (`(?i:…)`)."""
        for flag in on + off:
            if flag not in _FLAGS_KNOWN:
                known = ", ".join(f"'{letter}' ({meaning})" for letter, meaning in _FLAGS_KNOWN.items())
                raise JavaRegexError(
                    f"the flag '{flag}' in '(?{on}{'-' * bool(off)}{off}' is not supported; {known} are"
                )
        flags = (self._frames[-1].flags | set(on)) - set(off)
        scope = _scope(flags)
        if not alone:
            return self._open(scope, flags, counted=False)
        self._frames[-1].flags = flags
        self._frames[-1].scopes.append(scope)
        return scope


def _scope(flags: frozenset[str]) -> str:
    """The opening of a group in which these flags are in force; Java's `s` is told by what '.' becomes."""
    unicode = "u" if "u" in flags else "a"
    return f"(?{unicode}i:" if "i" in flags else f"(?{unicode}-i:"
