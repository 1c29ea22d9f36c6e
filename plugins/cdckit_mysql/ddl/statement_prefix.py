"""What may stand before a statement's first word: blanks, comments, parentheses, the openings of version comments.

One scanner for whoever asks what a statement is. Every byte is looked at once: statements are written by others, and a
pattern that repeats a choice of these parts needs exponential time for some.

https://dev.mysql.com/doc/refman/en/comments.html, https://mariadb.com/kb/en/comment-syntax/.
"""

from __future__ import annotations

import re

_PART = re.compile(rb"[ \t\n\v\f\r(;]+|--(?=[\x00-\x20\x7f]|\Z)[^\n]*|#[^\n]*|/\*(?:M?!\d*)?|\*/").match
_WORD = re.compile(rb"[A-Za-z]+").match


def skip_prefix(sql: bytes, at: int = 0) -> int:
    """Where the first thing of a statement stands that is neither blank nor comment nor an opening parenthesis.

    The contents of a version comment (`/*!50003 …`, `/*M!…`) count as a part of the statement, whatever its version.
    Where a comment is not closed: its beginning.
    """
    while part := _PART(sql, at):
        behind = part.end()
        if behind - at == 2 and sql[at:behind] == b"/*":
            behind = sql.find(b"*/", behind) + 2
            if behind < 2:
                break
        at = behind
    return at


def word_at(sql: bytes, at: int) -> bytes:
    """The word that begins there, in upper case; empty where none does."""
    word = _WORD(sql, at)
    return word[0].upper() if word else b""


def first_word(sql: bytes) -> bytes:
    """The first word of a statement, in upper case; empty where something else stands first."""
    word = _WORD(sql) or _WORD(sql, skip_prefix(sql))
    return word[0].upper() if word else b""
