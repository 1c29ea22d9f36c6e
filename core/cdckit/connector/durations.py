"""Lengths of time in words."""

from __future__ import annotations


def duration(seconds: int) -> str:
    """`59 s`, `2 min 05 s`, `3 h 07 min`."""
    minutes, rest = divmod(seconds, 60)
    if minutes < 1:
        return f"{rest} s"
    hours, minutes_rest = divmod(minutes, 60)
    return f"{hours} h {minutes_rest:02} min" if hours else f"{minutes} min {rest:02} s"
