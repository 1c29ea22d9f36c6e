"""Splits the text of an expression into tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from cdckit_transforms.scripting.syntax import ScriptError

Dialect = Literal["groovy", "javascript"]
Kind = Literal["name", "value", "pattern", "sign", "end"]

_BLANK = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,13}(?![0-9a-fA-F])|(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_SIGN = re.compile(r"\+\+|--|===|!==|<=>|==~|\?\.|\?:|\?\?|==|!=|<=|>=|&&|\|\||=~|\.\.|[-+*/%!<>=?:.,;()\[\]{}&|^~@#]")
_SLASHY = re.compile(r"/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+)/")
_SUFFIXES = {"L": int, "l": int, "G": Decimal, "g": Decimal, "I": int, "i": int, "D": float, "d": float}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_EXACT_DIGITS = 16
"""A whole number of fewer digits is the same as a double."""
_WHOLE_DIGITS = 20
"""A number of so many digits has more than 64 bits."""
_BEFORE_OPERAND = ("name", "value", "pattern")


@dataclass(frozen=True, slots=True)
class Token:
    """One sign, name or literal.

    Attributes:
        at: its column, counted from 1.
        kind: what it is.
        text: as it is written.
        value: of a literal: what it stands for; of a pattern: what follows its last slash.
        first: whether it is the first of a line, but not of the whole text.
    """

    at: int
    kind: Kind
    text: str
    value: Any = None
    first: bool = False


def tokens(text: str, dialect: Dialect) -> list[Token]:
    """The tokens of an expression; the last one is its end.

    Raises:
        ScriptError: it has something that no token begins with.
    """
    return _Scanner(text, dialect).all()


class _Scanner:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect
        self._at = 0
        self._first = False
        self._found: list[Token] = []

    def all(self) -> list[Token]:
        while True:
            self._skip_blanks()
            if self._at >= len(self._text):
                self._add("end", self._at)
                return self._found
            self._next()

    def _skip_blanks(self) -> None:
        begun = self._at
        while blank := _BLANK.match(self._text, self._at):
            self._at = blank.end()
        self._first = bool(self._found) and "\n" in self._text[begun : self._at]

    def _next(self) -> None:
        char = self._text[self._at]
        if char in "'\"":
            self._quoted(char)
        elif char == "/" and self._operand_expected():
            self._between_slashes()
        elif name := _NAME.match(self._text, self._at):
            self._add("name", name.end())
        elif number := _NUMBER.match(self._text, self._at):
            self._number(number[0])
        elif sign := _SIGN.match(self._text, self._at):
            self._sign(sign)
        else:
            raise ScriptError(self._at + 1, f"'{char}' is not known in expressions")

    def _sign(self, sign: re.Match[str]) -> None:
        """A sign; `?.5` is a question and a number, `a?[…]` is not known."""
        text = sign[0]
        if text == "?." and self._text[sign.end() : sign.end() + 1].isdigit():
            return self._add("sign", sign.start() + 1)
        return self._add("sign", sign.end())

    def _add(self, kind: Kind, end: int, value: Any = None) -> None:
        self._found.append(Token(self._at + 1, kind, self._text[self._at : end], value, self._first))
        self._at = end

    def _operand_expected(self) -> bool:
        if not self._found:
            return True
        last = self._found[-1]
        return last.text == "in" or (last.kind not in _BEFORE_OPERAND and last.text not in (")", "]"))

    def _number(self, text: str) -> None:
        end = self._at + len(text)
        suffix = self._text[end : end + 1] if self._dialect == "groovy" else ""
        if text[:2] in ("0x", "0X"):
            return self._add("value", end, int(text, 16))
        if text.isdigit() and len(text) > 1 and text[0] == "0":
            raise ScriptError(self._at + 1, f"write {text} without the first 0, which would make it an octal number")
        if suffix and suffix in _SUFFIXES:
            return self._suffixed(text, suffix)
        return self._add("value", end, self._plain_number(text))

    def _plain_number(self, text: str) -> Any:
        if text.isdigit() and len(text) < (_WHOLE_DIGITS if self._dialect == "groovy" else _EXACT_DIGITS):
            return int(text)
        return Decimal(text) if self._dialect == "groovy" and len(text) < 100 else float(text)

    def _suffixed(self, text: str, suffix: str) -> None:
        kind = _SUFFIXES[suffix]
        if kind is int and (not text.isdigit() or len(text) >= _WHOLE_DIGITS):
            raise ScriptError(self._at + 1, f"{text}{suffix} is no whole number of 64 bits")
        self._add("value", self._at + len(text) + 1, kind(text))

    def _between_slashes(self) -> None:
        found = _SLASHY.match(self._text, self._at)
        if not found:
            raise ScriptError(self._at + 1, "a '/' that begins a regular expression needs another one behind it")
        if self._dialect == "groovy":
            return self._add("value", found.end(), found[1].replace("\\/", "/"))
        flags = _NAME.match(self._text, found.end())
        return self._add("pattern", flags.end() if flags else found.end(), (found[1], flags[0] if flags else ""))

    def _quoted(self, quote: str) -> None:
        if self._dialect == "groovy" and self._text.startswith(quote * 3, self._at):
            raise ScriptError(self._at + 1, "write texts between single quotes, not between three")
        out, end = [], self._at + 1
        while (char := self._text[end : end + 1]) != quote:
            if char in ("", "\n"):
                raise ScriptError(self._at + 1, f"the text is not closed: {quote} is missing")
            if char == "$" and quote == '"' and self._dialect == "groovy":
                raise ScriptError(end + 1, "'$' in a text between double quotes: write 'a' + b, or single quotes")
            char, end = self._escaped(end) if char == "\\" else (char, end + 1)
            out.append(char)
        self._add("value", end + 1, "".join(out))

    def _escaped(self, at: int) -> tuple[str, int]:
        """What a backslash and what follows it stand for, and where the text goes on."""
        char = self._text[at + 1 : at + 2]
        if char == "u":
            digits = self._text[at + 2 : at + 6]
            if not re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                raise ScriptError(at + 1, r"\u needs four hexadecimal digits")
            return chr(int(digits, 16)), at + 6
        if char in _ESCAPES:
            return _ESCAPES[char], at + 2
        if char and (char in "\\'\"$/" or (self._dialect == "javascript" and not char.isalnum() and char != "\n")):
            return char, at + 2
        raise ScriptError(at + 1, f"'\\{char}' is not known in texts; write '\\\\' for a backslash")
