"""Values of the type JSON as text, which snapshot and log write in more than one way."""

from __future__ import annotations

import re
from typing import Any

import orjson

_LARGE = re.compile(r"\d{8}\.0|\de")
"""What a text has that may hold a double of eight digits and more."""
_BEYOND = 1 << 63
"""Up to here JSON's parser has integers of either sign."""


def parsed(text: str) -> Any:
    """What a JSON text says, snapshot and log alike; the text itself where it is none.

    Servers print large doubles with a point or an exponent; what is read of the log has neither,
    and all of their digits.
    """
    try:
        document = orjson.loads(text)
    except ValueError:
        return text
    return _whole(document) if _LARGE.search(text) else document


def in_one_form(text: str) -> str:
    """JSON that is the same for equal documents; a text that is none becomes one."""
    return orjson.dumps(parsed(text), option=orjson.OPT_SORT_KEYS).decode()


def _whole(value: Any) -> Any:
    """A document whose large doubles are integers, as far as JSON's parser knows them as such."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and 1e7 <= abs(value) < _BEYOND else value
    if isinstance(value, dict):
        return {name: _whole(member) for name, member in value.items()}
    return [_whole(member) for member in value] if isinstance(value, list) else value
