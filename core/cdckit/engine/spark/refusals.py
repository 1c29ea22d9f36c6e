"""Records that a table refuses when it is written: their batch is read again without them.

The driver knows of such a record only the place in the log that its row has. Tasks, which have the record as the source
gave it, ask at their start which places those are, set such records aside, and hand them over like all that cannot be
delivered. So nothing is kept of records for the case that a table refuses them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchBegins:
    """The driver writes the next batch."""


@dataclass(frozen=True, slots=True)
class ReadAgain:
    """The batch is read again.

    Attributes:
        refused: why the rows of a place in the log were refused.
    """

    refused: Mapping[str, str]


class Refusals:
    """Those of the batch in hand."""

    def __init__(self) -> None:
        self.reasons: dict[str, str] = {}

    def begin(self) -> None:
        """Another batch."""
        self.reasons = {}

    def add(self, refused: Mapping[str, str]) -> bool:
        """Takes more of them, and says whether one is new: else the same batch would be read without an end."""
        new = refused.keys() - self.reasons.keys()
        self.reasons |= refused
        return bool(new)
