"""In which fields two schemas differ: told where a registry refuses one for the sake of the other."""

from __future__ import annotations

from collections.abc import Mapping

Fields = Mapping[str, str]
"""What each field of a schema is, by its path: names with dots between."""

_TOLD = 8


def changes(then: Fields, now: Fields) -> str:
    """The fields that differ, with what they were and what they are; "" where none does.

    Args:
        then: those of the schema that is there.
        now: those of the one that is refused.
    """
    told = [
        *(f"{path}: was {then[path]}, is {kind}" for path, kind in now.items() if then.get(path, kind) != kind),
        *(f"{path}: is new, {kind}" for path, kind in now.items() if path not in then),
        *(f"{path}: is gone, was {kind}" for path, kind in then.items() if path not in now),
    ]
    more = [f"and {len(told) - _TOLD} more"] if len(told) > _TOLD else []
    return "; ".join(told[:_TOLD] + more)
