"""The text in the column `ABSENT` of a mirror's row: which columns lack the values that the log did not carry."""

from __future__ import annotations

from collections.abc import Collection

from cdckit.api.names_text import escaped_name, names_in, names_text


def absent_text(names: Collection[str]) -> str | None:
    """Names with commas around each; None where there are none."""
    return f",{names_text(names)}," if names else None


def absent_names(text: str | None) -> list[str]:
    """The names in such a text."""
    return names_in(text or "")


def absent_part(name: str) -> str:
    """What is in a text that has this name, and in no other."""
    return f",{escaped_name(name)},"
