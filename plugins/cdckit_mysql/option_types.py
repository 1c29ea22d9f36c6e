"""The types of option values: comma-separated lists, regular expressions, key columns."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

_COMMA = re.compile(r"(?<!\\),")


def split_list(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list, trimmed; `\\,` is a comma within an item."""
    items = (item.strip().replace("\\,", ",") for item in _COMMA.split(text))
    return tuple(item for item in items if item)


def _joined(value: Any) -> Any:
    """A YAML list as the text that it stands for."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(item).replace(",", "\\,") for item in value)
    return "" if value is None else value


def _checked_regexes(text: str) -> str:
    for item in split_list(text):
        compile_regex(item)
    return text


def compile_regex(pattern: str) -> re.Pattern[str]:
    """A regular expression that is matched without regard to case.

    Raises:
        ValueError: it is none; the message names it.
    """
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ValueError(f"'{pattern}' is no regular expression: {error}") from error


def split_key_columns(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The pairs of table pattern and key columns in `db.table:a,b;…`.

    Raises:
        ValueError: a part has no colon, or names no column.
    """
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        table, colon, columns = part.rpartition(":")
        names = tuple(name.strip() for name in columns.split(",") if name.strip())
        if not colon or not table or not names:
            raise ValueError(f"'{part}' does not look like database.table:column,column")
        compile_regex(table.strip())
        pairs.append((table.strip(), names))
    return tuple(pairs)


def _checked_key_columns(text: str) -> str:
    split_key_columns(text)
    return text


NameList = Annotated[str, BeforeValidator(_joined)]
"""Comma-separated names."""
RegexList = Annotated[str, BeforeValidator(_joined), AfterValidator(_checked_regexes)]
"""Comma-separated regular expressions, each of which must match a whole name."""
KeyColumns = Annotated[str, AfterValidator(_checked_key_columns)]
"""`db.table:a,b;db.other:c`."""
