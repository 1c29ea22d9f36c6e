"""The contract of a state store: where states are (`StateBackend`), one that is held, and a look at one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

Json = Any
"""Whatever JSON can say."""


class HistoryEntry(NamedTuple):
    """One entry of a history: what became true at `position`, which sorts as the records' positions do."""

    position: str
    entry: Json


class HistorySize(NamedTuple):
    """How large a history is: its name, how many entries it has, and the bytes of these as JSON."""

    name: str
    entries: int
    bytes: int


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


class StateView(ABC):
    """A pipeline's state as it is, read beside whoever holds it. Looking changes nothing, and makes nothing.

    Every method raises `StateError` when the state cannot be read.
    """

    @abstractmethod
    def load_offset(self) -> dict[str, Json] | None:
        """The last saved offset, or None."""

    @abstractmethod
    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""

    @abstractmethod
    def history_sizes(self) -> Sequence[HistorySize]:
        """The histories that have entries, by name."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of what it reads from. May be called twice."""


class StateBackend(ABC):
    """Where the states of pipelines are: what the hook `cdckit_state_stores` registers.

    A factory makes it of its config and nothing else, in each process that needs it. It connects to nothing by itself.
    """

    @abstractmethod
    def open(self, pipeline: str) -> StateStore:
        """The state of the pipeline of that name, made where there is none, and held until it is closed.

        A process that is killed lets go of what it held, be it after some seconds.

        Raises:
            StateHeldError: another process holds it; the message says which one, as far as that is known.
            StateError: it cannot be opened.
        """

    @abstractmethod
    def view(self, pipeline: str) -> StateView:
        """A look at the state of the pipeline of that name, which another process may hold; empty where there is none.

        Raises:
            StateError: it cannot be opened.
        """
