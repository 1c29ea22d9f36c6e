"""Reads a pattern character by character, escapes included."""

from __future__ import annotations

import re
import unicodedata

from cdckit.java.regex.char_set import PREDEFINED, Case, CharSet, named_set
from cdckit.java.regex.error import JavaRegexError

_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]{1,6})\}|u([0-9A-Fa-f]{4})")
_OCTAL = re.compile(r"0([0-3][0-7]{2}|[0-7]{1,2})")
_CONTROL = re.compile(r"c([\x40-\x7f])", re.DOTALL)
_UNICODE_NAME = re.compile(r"N\{([A-Za-z0-9 \-]+)\}")
_PROPERTY = re.compile(r"[pP](?:([A-Z])|\{([A-Za-z0-9_=]+)\})")
_QUOTED = re.compile(r"Q(.*?)(?:\\E|\Z)", re.DOTALL)


class Scanner:
    """A place in a pattern, and what can be read there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @property
    def done(self) -> bool:
        """Whether the pattern ends here."""
        return self.at >= len(self.text)

    def peek(self, length: int = 1) -> str:
        """The next characters, left in place; fewer at the end."""
        return self.text[self.at : self.at + length]

    def take(self, length: int = 1) -> str:
        """The next characters, passed over."""
        taken = self.peek(length)
        self.at += len(taken)
        return taken

    def take_if(self, text: str) -> bool:
        """Passes over `text` where it comes next, and says whether it did."""
        found = self.text.startswith(text, self.at)
        self.at += len(text) * found
        return found

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What `pattern` finds here, passed over."""
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def quoted(self) -> str | None:
        r"""The text of `Q…\E` after a backslash, or None."""
        found = self.match(_QUOTED)
        return found and found[1]

    def escaped_set(self, case: Case) -> CharSet | None:
        """The set that stands after a backslash, such as `d` or `p{Lu}`, or None."""
        letter = self.peek()
        if letter.lower() in PREDEFINED:
            self.at += 1
            chosen = PREDEFINED[letter.lower()]
            return ~chosen if letter.isupper() else chosen
        if found := self.match(_PROPERTY):
            chosen = named_set(found[1] or found[2], case)
            return ~chosen if letter == "P" else chosen
        return None

    def escaped_char(self) -> str:
        """The one character that stands after a backslash.

        Raises:
            JavaRegexError: no character is written so.
        """
        if found := self.match(_HEX):
            return _char(int(found[1] or found[2] or found[3], 16))
        if found := self.match(_OCTAL):
            return chr(int(found[1], 8))
        if found := self.match(_CONTROL):
            return chr(ord(found[1]) ^ 64)
        if found := self.match(_UNICODE_NAME):
            return _named_char(found[1])
        letter = self.take()
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if not letter or (letter.isascii() and letter.isalnum()):
            raise JavaRegexError(f"'\\{letter}' at index {self.at - 1 - bool(letter)} is no escape sequence")
        return letter


def _char(code: int) -> str:
    try:
        return chr(code)
    except ValueError:
        raise JavaRegexError(f"there is no character {code:#x}") from None


def _named_char(name: str) -> str:
    try:
        return unicodedata.lookup(name)
    except KeyError:
        raise JavaRegexError(f"there is no character called '{name}'") from None
