"""JSON texts as Jackson writes them: what differs from orjson's."""

from __future__ import annotations

import re
from typing import Any

import orjson

from cdckit.java.text import java_double

_CONTROL = b"\\u00"
_ESCAPED = re.compile(rb"\\(?:u00([01][0-9a-f])|.)")
_FOUR_BYTES = re.compile(rb"[\xf0-\xf4][\x80-\xbf]{3}")


def message(value: Any) -> bytes:
    """The text of a message: characters beyond 16 bits are escaped."""
    text = dumps(value)
    return text if text.isascii() else _FOUR_BYTES.sub(_surrogates, text)


def dumps(value: Any) -> bytes:
    """The text of a schema; control characters have capital digits."""
    text = orjson.dumps(value)
    return _ESCAPED.sub(_capitals, text) if _CONTROL in text else text


def number(value: float) -> orjson.Fragment | str:
    """A number as Java's `toString` shows it; one that JSON does not have, as a text."""
    text = java_double(value, "E")
    return orjson.Fragment(text.encode()) if value - value == 0 else text


def _capitals(found: re.Match[bytes]) -> bytes:
    return _CONTROL + found[1].upper() if found[1] else found[0]


def _surrogates(found: re.Match[bytes]) -> bytes:
    units = found[0].decode().encode("utf-16-be")
    return b"\\u%02X%02X\\u%02X%02X" % tuple(units)
