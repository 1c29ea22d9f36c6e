"""A Java pattern in Python's dialect."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

from cdckit.java.regex.bounded import UserPattern
from cdckit.java.regex.char_class import ClassReader
from cdckit.java.regex.char_set import LINE_END, VERTICAL_SPACE, Case, CharSet, one_char
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
    "R": rf"(?:\r\n|{VERTICAL_SPACE.to_python()})",
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
        return UserPattern(translated, pattern, option)
    except (re.error, regex.error, OverflowError) as error:
        raise JavaRegexError(f"'{pattern}' is no regular expression that can be used: {error}") from None


class _Translator:
    def __init__(self, pattern: str, *, ignore_case: bool) -> None:
        self._scanner = Scanner(pattern)
        self._flags = [frozenset("i" if ignore_case else "")]
        self._groups = 0
        self._out: list[str] = []

    def translate(self) -> str:
        while not self._scanner.done:
            self._out.append(self._next())
        if len(self._flags) > 1:
            raise JavaRegexError("a group is not closed: ')' is missing")
        return "".join(self._out)

    @property
    def _case(self) -> Case:
        flags = self._flags[-1]
        return "kept" if "i" not in flags else "unicode" if "u" in flags else "ascii"

    def _char(self, char: str) -> str:
        chosen = one_char(char, self._case)
        return re.escape(char) if chosen.is_one else chosen.to_python()

    def _next(self) -> str:
        char = self._scanner.take()
        match char:
            case "\\":
                return self._escape()
            case "[":
                return ClassReader(self._scanner, self._case).read()
            case "(":
                return self._open_group()
            case ")":
                return self._close_group()
            case ".":
                # Java's '.' stops at five line ends, Python's at one.
                return r"(?s:.)" if "s" in self._flags[-1] else LINE_END.to_python(negated=True)
            case "$":
                return _BEFORE_LAST_LINE_END
            case "{":
                return self._repetition()
            case "|" | "^" | "?" | "*" | "+":
                return char
            case _:
                return self._char(char)

    def _escape(self) -> str:
        scanner = self._scanner
        if (quoted := scanner.quoted()) is not None:
            return "".join(map(self._char, quoted))
        if (chosen := scanner.escaped_set(self._case)) is not None:
            return chosen.to_python()
        if reference := scanner.match(_BACK_REFERENCE):
            return self._repeated(f"(?P={reference[1]})")
        if scanner.peek() in "123456789" and not scanner.done:
            return self._back_reference()
        if scanner.peek(3) == "b{g":
            raise JavaRegexError(r"'\b{g}' is not supported")
        if scanner.peek() in _ESCAPES:
            return _ESCAPES[scanner.take()]
        if scanner.peek() in ("G", "X"):
            raise JavaRegexError(f"'\\{scanner.peek()}' is not supported")
        return self._char(scanner.escaped_char())

    def _back_reference(self) -> str:
        """A group's number: as many digits as there are groups for."""
        number = int(self._scanner.take())
        while self._scanner.peek().isdecimal() and number * 10 + int(self._scanner.peek()) <= self._groups:
            number = number * 10 + int(self._scanner.take())
        return self._repeated(f"(?:\\{number})")

    def _repeated(self, reference: str) -> str:
        """What a group has found once more."""
        if self._case == "unicode":
            raise JavaRegexError("a back reference is not supported where the case of all letters is ignored ('(?iu)')")
        return reference if self._case == "kept" else f"(?i:{reference})"

    def _repetition(self) -> str:
        self._scanner.at -= 1
        found = self._scanner.match(_REPETITION)
        if not found:
            raise JavaRegexError(
                rf"'{{' at index {self._scanner.at} is no repetition; write '\{{' for the brace itself"
            )
        return found[0]

    def _open_group(self) -> str:
        flags = self._flags[-1]
        if self._scanner.peek() != "?":
            return self._open("(", flags)
        if plain := self._scanner.match(_PLAIN_GROUP):
            return self._open(f"({plain[0]}", flags, counted=False)
        if named := self._scanner.match(_GROUP_NAME):
            return self._open(f"(?P<{named[1]}>", flags)
        given = self._scanner.match(_FLAGS)
        if not given:
            raise JavaRegexError(f"'({self._scanner.peek(3)}' at index {self._scanner.at - 1} opens no known group")
        return self._set_flags(given[1], given[2] or "", alone=given[3] == ")")

    def _open(self, text: str, flags: frozenset[str], *, counted: bool = True) -> str:
        self._groups += counted
        self._flags.append(flags)
        return text

    def _close_group(self) -> str:
        if len(self._flags) == 1:
            raise JavaRegexError(f"')' at index {self._scanner.at - 1} closes no group")
        self._flags.pop()
        return ")"

    def _set_flags(self, on: str, off: str, *, alone: bool) -> str:
        """Flags for the rest of the group (`(?i)`), or for a group of their own (`(?i:…)`)."""
        for flag in on + off:
            if flag not in _FLAGS_KNOWN:
                known = ", ".join(f"'{letter}' ({meaning})" for letter, meaning in _FLAGS_KNOWN.items())
                raise JavaRegexError(
                    f"the flag '{flag}' in '(?{on}{'-' * bool(off)}{off}' is not supported; {known} are"
                )
        flags = (self._flags[-1] | set(on)) - set(off)
        if not alone:
            return self._open("(?:", flags, counted=False)
        # Python takes flags for the whole pattern, or for a group. So they are kept here, and each character is written
        # out with its cases: nothing of Python's own rules for case is used.
        self._flags[-1] = flags
        return ""
