"""The contract of a state store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Json = Any
"""Whatever JSON can say."""


class HistoryEntry(NamedTuple):
    """One entry of a history: what became true at `position`, which sorts as the records' positions do."""

    position: str
    entry: Json


class StateStore(ABC):
    """Durable, crash-safe memory of one pipeline; one process at a time holds it.

    Every method raises `StateError` when the store cannot be read or written.
    """

    @abstractmethod
    def load_offset(self) -> dict[str, Json] | None:
        """The last saved offset, or None."""

    @abstractmethod
    def save_offset(self, offset: dict[str, Json] | None) -> None:
        """Makes `offset` the saved one, durably; None forgets it."""

    @abstractmethod
    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries durably; an entry at a position that is already there replaces it."""

    @abstractmethod
    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries in order of position, those after `up_to` left out."""

    @abstractmethod
    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts `entries` in the place of the whole history at once: compaction, or recovery."""

    @abstractmethod
    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""

    @abstractmethod
    def put(self, key: str, value: Json) -> None:
        """Keeps a value under `key` durably; None removes it."""

    @property
    @abstractmethod
    def changes(self) -> int:
        """A number that grows with every change that is made through this object."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of the store, so that another process may hold it. May be called twice."""
