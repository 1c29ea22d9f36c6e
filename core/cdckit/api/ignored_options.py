"""Options of other systems that mean nothing here, and why."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class IgnoredOptions:
    """Options that are known and mean nothing here.

    Attributes:
        names: a regular expression of their names.
        why: why they mean nothing and what to use instead: a clause that stands behind a colon.
        taken: the values that change nothing and may stand in a user's file all the same, in small letters; any other
            is refused. None: whatever is given is left out with a warning.
        refused: whether another value is refused; if not, it is left out with a warning, too.
        anyones: whether the names are anyone's, so that one which is close to an option's counts as misspelt.
    """

    names: str
    why: str
    taken: tuple[str, ...] | None = None
    refused: bool = True
    anyones: bool = False

    def means(self, name: str) -> bool:
        """Whether an option is one of these."""
        return re.fullmatch(self.names, name) is not None

    def takes(self, value: Any) -> bool:
        """Whether the value may stand in a user's file."""
        text = "" if value is None else str(value).strip().lower()
        return self.taken is None or text in ("", *self.taken)
