"""Comma-separated lists of names, and of pairs of them, as options."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit import NameList, split_names


def _some(text: str) -> str:
    if not split_names(text):
        raise ValueError("should name at least one")
    return text


SomeNames = Annotated[NameList, AfterValidator(_some)]
"""Comma-separated names, one at least."""


def names(text: str) -> tuple[str, ...]:
    """The names of a list, each once."""
    return tuple(dict.fromkeys(split_names(text)))


def pairs(text: str) -> dict[str, str]:
    """The names behind the colons, by those before them.

    Raises:
        ValueError: an item is not `ONE:OTHER`.
    """
    found = {}
    for item in split_names(text):
        one, colon, other = (part.strip() for part in item.partition(":"))
        if not (one and colon and other) or ":" in other:
            raise ValueError(f"'{item}' should be two names with a colon between")
        found[one] = other
    return found
