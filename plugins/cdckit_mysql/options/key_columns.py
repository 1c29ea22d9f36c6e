"""The type of option values that tell key columns."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit import split_names
from cdckit.java.regex import UserPattern, compile_java


def split_key_columns(text: str) -> list[tuple[UserPattern, tuple[str, ...]]]:
    """The pairs of table pattern and key columns in `db.table:a,b;…`.

    Raises:
        ValueError: a part has no colon, or names no column.
    """
    pairs = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        table, _, columns = part.rpartition(":")
        names = split_names(columns)
        if not table or not names:
            raise ValueError(f"'{part}' does not look like database.table:column,column")
        pairs.append((compile_java(table.strip(), ignore_case=True, option="message.key.columns"), names))
    return pairs


def _checked_key_columns(text: str) -> str:
    split_key_columns(text)
    return text


KeyColumns = Annotated[str, AfterValidator(_checked_key_columns)]
"""`db.table:a,b;db.other:c`."""
