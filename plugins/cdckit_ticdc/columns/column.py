"""A column of a table as messages bring it: its schema, and how its values are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cdckit import Schema

Read = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One column.

    Attributes:
        name: its name.
        schema: the field's schema.
        read: what makes a value of the schema from what the message holds; None: it is one already, and only its
            class is checked. It is never given None.
    """

    name: str
    schema: Schema
    read: Read | None = None
