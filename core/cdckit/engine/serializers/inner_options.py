"""Options that one serializer passes on to another: they may hold secrets, so none of them is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

from pydantic import BeforeValidator, SecretStr

from cdckit.errors import ConfigError


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


InnerOptions = dict[str, Annotated[SecretStr, BeforeValidator(_text)]]
"""By their full names."""


@contextmanager
def as_pydantic_errors() -> Iterator[None]:
    """Lets what is wrong with the inner options be told among the faults of those around them."""
    try:
        yield
    except ConfigError as error:
        raise ValueError("; ".join(error.problems)) from error


def without_prefix(options: Mapping[str, SecretStr], prefix: str) -> dict[str, str]:
    """The options by the names that they have without what stands before them."""
    return {name.removeprefix(prefix): value.get_secret_value() for name, value in options.items()}
