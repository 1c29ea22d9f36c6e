"""What an incremental snapshot asks of a source: marks in its log, one before a chunk is read and one after."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

OPEN, CLOSE = "-open", "-close"
"""What the identifiers of the two marks end in, where they are rows or documents."""


class Watermarks(ABC):
    """Makes the marks. Whoever reads the log tells the snapshot when it passes them."""

    opens_at_once: ClassVar[bool] = False
    """Whether everything that the log tells from the first mark on counts, without the log's telling of the mark."""

    @abstractmethod
    def low(self, window: str) -> None:
        """A chunk is to be read now.

        Args:
            window: what the mark's identifier begins with.
        """

    @abstractmethod
    def high(self, window: str) -> None:
        """The chunk has been read."""
