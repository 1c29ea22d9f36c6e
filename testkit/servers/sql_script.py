"""Cuts an SQL script into statements as the mysql command-line client does.

What the server sees of each statement, and so what its binary log keeps, is the text without the delimiter
and without the comments (https://dev.mysql.com/doc/refman/9.7/en/mysql-commands.html, ``delimiter``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_DELIMITER_COMMAND = re.compile(r"\s*DELIMITER[ \t]+(\S+)[^\n]*(?:\n|\Z)", re.IGNORECASE)
_QUOTED = r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`(?:[^`]|``)*`"""
_COMMENT = r"""--(?=\s|\Z)[^\n]*|\#[^\n]*|/\*(?![!+M]).*?\*/"""
_EXECUTABLE_COMMENT = r"""/\*[!+M].*?\*/"""


def statements(script: str) -> Iterator[str]:
    """Yield the statements of ``script`` in order; a last one without a delimiter counts."""
    delimiter, start = ";", 0
    while start < len(script):
        if command := _DELIMITER_COMMAND.match(script, start):
            delimiter, start = command.group(1), command.end()
            continue
        statement, start = _next_statement(script, start, delimiter)
        if statement:
            yield statement


def _next_statement(script: str, start: int, delimiter: str) -> tuple[str, int]:
    """Return the statement at ``start`` and where the next one begins."""
    parts: list[str] = []
    position = start
    for token in _tokens(delimiter).finditer(script, start):
        position = token.end()
        if token.lastgroup == "delimiter":
            break
        if token.lastgroup != "comment":
            parts.append(token.group())
    return "".join(parts).strip(), position


def _tokens(delimiter: str) -> re.Pattern[str]:
    end = re.escape(delimiter)
    plain = rf"[^'\"`\-\#/{re.escape(delimiter[0])}]+|."
    return re.compile(
        rf"(?P<delimiter>{end})|(?P<comment>{_COMMENT})|(?P<text>{_QUOTED}|{_EXECUTABLE_COMMENT}|{plain})",
        re.DOTALL,
    )
