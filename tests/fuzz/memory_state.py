"""A pipeline's state that nobody needs later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cdckit.api.state_store import HistoryEntry, Json, StateStore


class MemoryState(StateStore):
    """State in memory."""

    def __init__(self) -> None:
        self.offset: dict[str, Json] | None = None
        self.histories: dict[str, dict[str, Json]] = {}
        self.kept: dict[str, Json] = {}
        self._changes = 0

    def load_offset(self) -> dict[str, Json] | None:
        return self.offset

    def save_offset(self, offset: dict[str, Json] | None) -> None:
        self.offset = offset

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        self._changes += 1
        self.histories.setdefault(history, {}).update(entries)

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        found = sorted(self.histories.get(history, {}).items(), key=lambda item: item[0])
        return (HistoryEntry(*item) for item in found if up_to is None or item[0] <= up_to)

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        self.histories[history] = dict(entries)

    def get(self, key: str) -> Json:
        return self.kept.get(key)

    def put(self, key: str, value: Json) -> None:
        self.kept[key] = value

    @property
    def changes(self) -> int:
        return self._changes

    def close(self) -> None:
        pass
