"""What can be seen in a statement's text before it is read: its first word, and passwords.

Statements are written by others: every byte is looked at once. A pattern that repeats a choice of blanks and comments
needs exponential time for some.

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


# -- statements that may change a definition

_DDL = frozenset({b"CREATE", b"ALTER", b"DROP", b"RENAME", b"TRUNCATE"})
_DDL_WITHIN = re.compile(rb"\b(?:CREATE|ALTER|DROP|RENAME|TRUNCATE)\b", re.IGNORECASE).search
_VERSION_COMMENT = re.compile(rb"/\*M?!").search


def is_schema_change(sql: bytes) -> bool:
    """Whether a statement of a QUERY event has to be given to the reader.

    Cheap for what a log is full of: BEGIN, COMMIT, SAVEPOINT, XA. Says yes to some statements which change no
    definition, such as CREATE USER, and wherever the reader alone can tell: behind `SET STATEMENT … FOR` and behind a
    version comment, which the server may have passed over.
    """
    word = first_word(sql)
    if word in _DDL:
        return True
    if word == b"SET":
        behind = skip_prefix(sql) + len(word)
        return word_at(sql, skip_prefix(sql, behind)) == b"STATEMENT"
    return not sql[:1].isalpha() and _may_be_passed_over(sql)


def _may_be_passed_over(sql: bytes) -> bool:
    """Whether a version comment stands before the first word, and a word of DDL anywhere."""
    return _VERSION_COMMENT(sql, 0, skip_prefix(sql)) is not None and _DDL_WITHIN(sql) is not None


# -- passwords: a table of the engine FEDERATED, CONNECT or SPIDER may hold one in its definition,
# CONNECTION='scheme://user:password@host:port/database/table' (https://dev.mysql.com/doc/refman/en/federated-create.html)

_QUOTED = r"""'(?:[^'\\]|\\.|'')*'?|"(?:[^"\\]|\\.|"")*"?"""
_CONNECTION = re.compile(
    rf"\bCONNECTION(?:\s*=)?\s*(?P<text>{_QUOTED})|{_QUOTED}|`[^`]*`?|"
    r"--(?=[\x00-\x20\x7f]|\Z)[^\n]*|\#[^\n]*|/\*(?!M?!)[^*]*(?:\*(?!/)[^*]*)*",
    re.IGNORECASE | re.DOTALL,
)
"""A connection string, or what may hold its word without being one: other strings, names, comments."""
_SCHEME = "://"
MASK = "*****"


def without_passwords(sql: str) -> str:
    """The statement with stars in the place of a connection string's password; else as it is."""
    if "connection" not in sql.lower():
        return sql
    return _CONNECTION.sub(_masked, sql)


def _masked(found: re.Match[str]) -> str:
    if found["text"] is None:
        return found[0]
    scheme, separator, rest = found["text"].partition(_SCHEME)
    login, at, place = rest.rpartition("@")
    user, colon, _ = login.partition(":")
    if not (separator and at and colon):
        return found[0]
    return found[0].removesuffix(found["text"]) + f"{scheme}{separator}{user}:{MASK}@{place}"
