"""Tells by its first words whether a statement may change a definition."""

from __future__ import annotations

import re

_DDL = re.compile(
    rb"(?:[\s(;]|--[^\n]*(?:\n|$)|\#[^\n]*(?:\n|$)|/\*M?!\d*|/\*(?!M?!)(?s:.*?)\*/|\*/)*"
    rb"(?:SET\s+STATEMENT\s(?s:.*?)\sFOR\s+)?"
    rb"(?:CREATE|ALTER|DROP|RENAME|TRUNCATE)\b",
    re.IGNORECASE,
)


def is_schema_change(sql: bytes) -> bool:
    """Whether a statement of a QUERY event has to be given to the reader.

    Cheap for what a log is full of: BEGIN, COMMIT, SAVEPOINT, XA. Says yes to some statements which change no
    definition, such as CREATE USER.
    """
    return _DDL.match(sql) is not None
