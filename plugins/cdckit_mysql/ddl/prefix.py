"""Tells by its first words whether a statement may change a definition."""

from __future__ import annotations

import re

from cdckit_mysql.ddl.statement_prefix import first_word, skip_prefix, word_at

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
