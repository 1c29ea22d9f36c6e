"""A sound state store, and twins of it with one fault each, which the suite must find."""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

from cdckit.api.state_store import HistoryEntry, StateBackend, StateStore, StateView
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.engine.state.sqlite import SqliteStateStore, SqliteStateView


class SoundBackend(StateBackend):
    """A folder for each pipeline."""

    store: ClassVar[type[SqliteStateStore]] = SqliteStateStore

    def __init__(self, config: FileStateConfig) -> None:
        assert config.path is not None
        self.folder: Path = config.path

    def open(self, pipeline: str) -> StateStore:
        return self.store(self.folder / pipeline)

    def view(self, pipeline: str) -> StateView:
        return SqliteStateView(self.folder / pipeline)


class ForgetsNoOffset(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801 - it takes the place of the attribute
        def save_offset(self, offset: dict[str, Any] | None) -> None:
            if offset is not None:
                super().save_offset(offset)


class ReadsToTheEnd(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
            return super().read_history(history)


class SortsWithoutCase(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
            return iter(sorted(super().read_history(history, up_to), key=lambda entry: entry.position.lower()))


class KeepsTheFirst(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
            known = {entry.position for entry in self.read_history(history)}
            super().append_history(history, [entry for entry in entries if entry.position not in known])


class AddsInReplacing(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
            self.append_history(history, entries)


class KnowsNoCase(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def get(self, key: str) -> Any:
            return super().get(key.lower())

        def put(self, key: str, value: Any) -> None:
            super().put(key.lower(), value)


class KnowsOneKindOfNumber(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def get(self, key: str) -> Any:
            return json.loads(json.dumps(super().get(key)), parse_int=float)


class CutsLongTexts(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def put(self, key: str, value: Any) -> None:
            super().put(key, value[:65535] if isinstance(value, str) else value)


class CountsLooks(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        looks = 0

        def load_offset(self) -> dict[str, Any] | None:
            self.looks += 1
            return super().load_offset()

        @property
        def changes(self) -> int:
            return super().changes + self.looks


class IsOfOneThread(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            self.thread = threading.get_ident()

        def save_offset(self, offset: dict[str, Any] | None) -> None:
            if threading.get_ident() == self.thread:
                super().save_offset(offset)


class IsHeldByMany(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def __init__(self, folder: Path) -> None:
            super().__init__(folder)
            fcntl.flock(self._lock, fcntl.LOCK_UN)


class HasOneStateForAll(SoundBackend):
    def open(self, pipeline: str) -> StateStore:
        return super().open(pipeline.lower())


class MakesInLooking(SoundBackend):
    def view(self, pipeline: str) -> StateView:
        with closing(self.open(pipeline)) as store:
            store.put("a", 1)
        return super().view(pipeline)


class HoldsInLooking(SoundBackend):
    def view(self, pipeline: str) -> StateView:
        self.open(pipeline).close()
        return super().view(pipeline)


class ClosesOnce(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def close(self) -> None:
            if self._closed:
                raise ValueError("closed")
            super().close()


class SavesAtTheEnd(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        latest: dict[str, Any] | None = None

        def save_offset(self, offset: dict[str, Any] | None) -> None:
            self.latest = offset

        def load_offset(self) -> dict[str, Any] | None:
            return self.latest or super().load_offset()

        def close(self) -> None:
            if self.latest and not self._closed:
                super().save_offset(self.latest)
            super().close()


class TiresOfSaving(SoundBackend):
    class store(SqliteStateStore):  # noqa: N801
        def save_offset(self, offset: dict[str, Any] | None) -> None:
            if self.changes > 100:
                raise ValueError("tired")
            super().save_offset(offset)
