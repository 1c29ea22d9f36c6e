"""The patterns of Java's `SimpleDateFormat`."""

from __future__ import annotations

from typing import NamedTuple

LETTERS = "GyYMLwWDdFEuaHkKhmsSzZX"
LITERAL = ""


class DatePatternError(ValueError):
    """A pattern is none."""


class Piece(NamedTuple):
    """A part of a pattern: a letter and how often it stands there, or, with `LITERAL` as its letter, a text."""

    letter: str
    times: int
    text: str = ""


def pieces_of(pattern: str) -> tuple[Piece, ...]:
    """The parts of a pattern, in their order.

    Raises:
        DatePatternError: a letter that means nothing, or a quote that is not closed.
    """
    pieces: list[Piece] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        end = at + 1
        if char == "'":
            text, end = _quoted(pattern, at)
            pieces.append(Piece(LITERAL, 1, text))
        elif char.isascii() and char.isalpha():
            while end < len(pattern) and pattern[end] == char:
                end += 1
            pieces.append(_letters(char, end - at))
        else:
            pieces.append(Piece(LITERAL, 1, char))
        at = end
    return tuple(pieces)


def _letters(char: str, count: int) -> Piece:
    if char not in LETTERS:
        raise DatePatternError(f"'{char}' means nothing in a date's pattern; put quotes around text: '{char}…'")
    if char == "X" and count > 3:
        raise DatePatternError("a zone is X, XX or XXX")
    return Piece(char, count)


def _quoted(pattern: str, at: int) -> tuple[str, int]:
    """The text that begins with the quote at `at`, and where it ends; two quotes are one."""
    if pattern[at + 1 : at + 2] == "'":
        return "'", at + 2
    text, at = "", at + 1
    while (end := pattern.find("'", at)) >= 0:
        text += pattern[at:end]
        if pattern[end + 1 : end + 2] != "'":
            return text, end + 1
        text, at = f"{text}'", end + 2
    raise DatePatternError("a quote is not closed")
