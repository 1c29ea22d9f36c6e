"""Options of other systems that mean nothing here, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class NoMeaning:
    """Options that are known and mean nothing here.

    Attributes:
        names: a regular expression of their names.
        why: why they mean nothing and what to use instead: a clause that stands behind a colon.
        taken: the values that change nothing and may stand in a user's file all the same, in small letters; any other
            is refused. None: whatever is given is left out with a warning.
    """

    names: str
    why: str
    taken: tuple[str, ...] | None = None

    def means(self, name: str) -> bool:
        """Whether an option is one of these."""
        return re.fullmatch(self.names, name) is not None

    def takes(self, value: Any) -> bool:
        """Whether the value may stand in a user's file."""
        text = "" if value is None else str(value).strip().lower()
        return self.taken is None or text in ("", *self.taken)
