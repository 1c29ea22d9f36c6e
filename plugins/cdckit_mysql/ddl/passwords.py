"""Passwords in statements: a table of the engine FEDERATED or CONNECT, or a SPIDER one, may hold one in its definition.

`CONNECTION='scheme://user:password@host:port/database/table'` (MySQL manual, "How to Create FEDERATED Tables").
"""

from __future__ import annotations

import re

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
