"""A state that another process holds, for a source that is only asked where its log is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NoReturn

from cdckit.api.state_store import HistoryEntry, Json, StateStore, StateView
from cdckit.errors import StateError


class ViewedState(StateStore):
    """Tells what is kept, and keeps nothing: each change raises a `StateError`.

    Args:
        view: the look at it.
    """

    def __init__(self, view: StateView) -> None:
        self._view = view

    def load_offset(self) -> dict[str, Json] | None:
        """The last saved offset, or None."""
        return self._view.load_offset()

    def get(self, key: str) -> Json:
        """A value kept under `key`, or None."""
        return self._view.get(key)

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """Histories are not looked at."""
        _refuse()

    def save_offset(self, offset: dict[str, Json] | None) -> None:
        """Nothing is kept."""
        _refuse()

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Nothing is kept."""
        _refuse()

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Nothing is kept."""
        _refuse()

    def put(self, key: str, value: Json) -> None:
        """Nothing is kept."""
        _refuse()

    @property
    def changes(self) -> int:
        """None are made."""
        return 0

    def close(self) -> None:
        """Lets go of the look."""
        self._view.close()


def _refuse() -> NoReturn:
    raise StateError("the state is held by another process")
