"""Options whose value is a list of pairs: `name=value,name=value`, or a mapping in YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator

from cdckit.api.lists import split_names


def parse_pairs(text: str, check: Callable[[str], None] | None = None) -> dict[str, str]:
    """`name=value,name=value` as pairs.

    Args:
        text: the option's value.
        check: raises a ValueError where a name cannot be one; None: any name can.

    Raises:
        ValueError: an item is no `name=value`, or its name cannot be one, or is given twice.
    """
    pairs: dict[str, str] = {}
    for item in split_names(text):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not value or (check is None and not name):
            raise ValueError(f"should be 'name=value' items with commas between; '{item}' is none")
        if check is not None:
            check(name)
        if name in pairs:
            raise ValueError(f"'{name}' is given twice")
        pairs[name] = value
    return pairs


def checked_by(parse: Callable[[str], object]) -> AfterValidator:
    """Has an option's text parsed when it is given; it stays a text."""

    def checked(text: str) -> str:
        parse(text)
        return text

    return AfterValidator(checked)


def _joined(value: object) -> object:
    """A YAML mapping as the text that it stands for."""
    return ",".join(f"{name}={item}" for name, item in value.items()) if isinstance(value, dict) else value


PairsText = Annotated[str, BeforeValidator(_joined)]
"""The text, also where a mapping was given."""
