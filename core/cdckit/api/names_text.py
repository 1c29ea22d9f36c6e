"""Names in one text, such as the header that tells of which fields a source's log did not carry the values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ESCAPES = {",": "%2C", "%": "%25"}
_LETTERS = {written: letter for letter, written in _ESCAPES.items()}
_WRITTEN = re.compile("%2C|%25")
_CONFUSING = re.compile(",|%2C|%25")


def names_text(names: Iterable[str]) -> str:
    """Names with commas between; in one that has a comma, `%2C` or `%25` in it, `%2C` is a comma and `%25` is `%`."""
    return ",".join(map(escaped_name, names))


def names_in(text: str) -> list[str]:
    """The names in such a text."""
    return [_WRITTEN.sub(lambda found: _LETTERS[found[0]], name) for name in text.split(",") if name]


def escaped_name(name: str) -> str:
    """A name as it stands there, which is without a comma."""
    if _CONFUSING.search(name) is None:
        return name
    return name.replace("%", _ESCAPES["%"]).replace(",", _ESCAPES[","])


def some_names(names: Sequence[str], most: int = 5) -> str:
    """The first names, for a message, and a mark where there are more than `most`."""
    return ", ".join(names[:most]) + (" …" if len(names) > most else "")
