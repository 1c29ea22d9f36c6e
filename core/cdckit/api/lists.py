"""The types of option values that are lists: comma-separated names, comma-separated regular expressions."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator

from cdckit.java.regex import UserPattern, compile_java, split_patterns


def split_names(text: str) -> tuple[str, ...]:
    """The items of a comma-separated list, trimmed."""
    return tuple(item for item in (part.strip() for part in text.split(",")) if item)


def patterns(text: str, option: str = "") -> list[UserPattern]:
    """The regular expressions of a comma-separated list, an option's value; case does not matter to them.

    Raises:
        JavaRegexError: one of them is none.
    """
    return [compile_java(item, ignore_case=True, option=option) for item in split_patterns(text)]


def listed(value: Any) -> Any:
    """A YAML list as the text that it stands for."""
    if isinstance(value, (list, tuple)):
        return ",".join(str(item).replace(",", "\\,") for item in value)
    return "" if value is None else value


def _checked_patterns(text: str) -> str:
    patterns(text)
    return text


NameList = Annotated[str, BeforeValidator(listed)]
"""Comma-separated names."""
RegexList = Annotated[str, BeforeValidator(listed), AfterValidator(_checked_patterns)]
"""Comma-separated regular expressions of Java, each of which must match a whole name."""
