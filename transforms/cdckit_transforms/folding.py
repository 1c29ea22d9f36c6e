"""Choices in any case, as Debezium takes them."""

from __future__ import annotations

from typing import Any


def folded(value: Any) -> Any:
    """A text in lower case, without blanks around."""
    return value.strip().lower() if isinstance(value, str) else value
