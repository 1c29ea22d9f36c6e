"""Folders that delta-rs does not find."""

from __future__ import annotations

import re

_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")


def is_misread(place: str) -> bool:
    """Whether delta-rs looks for a folder by another name: it takes `%41` in one for the letter A."""
    return "://" not in place and _ENCODED.search(place) is not None
