"""Java's patterns as options of a config model."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator

from cdckit.java.regex.translate import compile_java


def _checked(pattern: str) -> str:
    compile_java(pattern)
    return pattern


JavaRegex = Annotated[str, AfterValidator(_checked)]
"""An option that holds one Java pattern; it is checked with the other options and stays a string."""


def split_patterns(text: str) -> list[str]:
    r"""The patterns of a comma-separated list; `\,` is a comma inside a pattern, blanks around one are dropped.

    Debezium's include and exclude lists are written so.
    """
    parts = [""]
    escaped = False
    for char in text:
        if char == "," and not escaped:
            parts.append("")
            continue
        parts[-1] += char
        escaped = char == "\\" and not escaped
    return [part.strip().replace("\\,", ",") for part in parts if part.strip()]
