"""Fields by their names, or by paths into nested structs (Kafka's KIP-821: `field.syntax.version`)."""

from __future__ import annotations

from typing import Literal

Syntax = Literal["V1", "V2"]


def field_path(text: str, syntax: Syntax) -> tuple[str, ...]:
    """The names of the fields on the way.

    Args:
        text: `V1`: one field's name, whatever stands in it. `V2`: names with points between; backticks around a name
            that has points, and a backslash before a backtick that is the name's and stands before a point.
        syntax: which of these it is.

    Raises:
        ValueError: it names no field, or a backtick is not closed.
    """
    if syntax == "V1":
        return (text,)
    if not text:
        raise ValueError("should name a field")
    steps: list[str] = []
    at = 0
    while at < len(text):
        step, at = _quoted(text, at) if text[at] == "`" else _plain(text, at)
        steps.append(step)
    return (*steps, "") if text.endswith(".") else tuple(steps)


def _plain(text: str, at: int) -> tuple[str, int]:
    end = text.find(".", at)
    return (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)


def _quoted(text: str, at: int) -> tuple[str, int]:
    """The name between backticks; only one that ends the path, or has a point behind it, closes."""
    name, start, end = "", at + 1, at + 1
    while (end := text.find("`", end)) >= 0:
        escaped = text[end - 1] == "\\"
        if end == len(text) - 1 and not escaped:
            return name + text[start:end], len(text)
        if end < len(text) - 1 and text[end + 1] == ".":
            if not escaped:
                return name + text[start:end], end + 2
            name, start = f"{name}{text[start : end - 1]}`", end + 1
        end += 1
    raise ValueError(
        f"the backtick at place {at + 1} of '{text}' is not closed; write a backslash before it if it is none"
    )
