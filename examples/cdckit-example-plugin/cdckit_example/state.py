"""The state store `json-files`."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from cdckit import HistoryEntry, HistorySize, StateBackend, StateError, StateHeldError, StateStore, StateView
from cdckit_example.config import JsonFilesConfig

EMPTY: dict[str, Any] = {"offset": None, "histories": {}, "values": {}}


class JsonFiles(StateBackend):
    """A file for each pipeline. It opens nothing before it is asked to: `cdc validate` makes one, too."""

    def __init__(self, config: JsonFilesConfig) -> None:
        self.folder = config.path

    def open(self, pipeline: str) -> StateStore:
        """The state, held by a lock on a file beside it."""
        return JsonStore(self.folder, pipeline)

    def view(self, pipeline: str) -> StateView:
        """The state as it was last saved."""
        return JsonView(_read(self.folder / f"{pipeline}.json"))


class JsonStore(StateStore):
    """Holds the whole state in memory, and writes it anew with each save: a file for states that are small."""

    def __init__(self, folder: Path, pipeline: str) -> None:
        self.path = folder / f"{pipeline}.json"
        self._lock = _hold(folder / f"{pipeline}.lock")
        self._changes = 0
        try:
            self._state = _read(self.path)
        except BaseException:
            self.close()
            raise

    def load_offset(self) -> dict[str, Any] | None:
        """The saved offset."""
        offset: dict[str, Any] | None = deepcopy(self._state["offset"])
        return offset

    def save_offset(self, offset: dict[str, Any] | None) -> None:
        """Saves it."""
        self._change(lambda state: state.update(offset=offset))

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries."""
        self._change(lambda state: state["histories"].setdefault(history, {}).update(entries))

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries, sorted."""
        entries = deepcopy(self._state["histories"].get(history, {}))
        return iter([HistoryEntry(*each) for each in sorted(entries.items()) if up_to is None or each[0] <= up_to])

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts entries in the place of others."""
        self._change(lambda state: state["histories"].update({history: dict(entries)}))

    def get(self, key: str) -> Any:
        """A value."""
        return deepcopy(self._state["values"].get(key))

    def put(self, key: str, value: Any) -> None:
        """Keeps a value."""
        self._change(lambda state: state["values"].update({key: value}))

    @property
    def changes(self) -> int:
        """How often it was saved."""
        return self._changes

    def close(self) -> None:
        """Lets go of the lock."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Writes the changed state beside the old one, and puts it in its place: a reader sees the one or the other."""
        state = deepcopy(self._state)
        change(state)
        try:
            _write(self.path, json.dumps(state))
        except OSError as error:
            raise StateError(f"state.path: {self.path}: {error.strerror}") from error
        self._state = json.loads(json.dumps(state))
        self._changes += 1


class JsonView(StateView):
    """A state that was read."""

    def __init__(self, state: dict[str, Any]) -> None:
        self._state = state

    def load_offset(self) -> dict[str, Any] | None:
        """The saved offset."""
        offset: dict[str, Any] | None = self._state["offset"]
        return offset

    def get(self, key: str) -> Any:
        """A value."""
        return self._state["values"].get(key)

    def history_sizes(self) -> list[HistorySize]:
        """The histories that have entries."""
        found = sorted(self._state["histories"].items())
        return [HistorySize(name, len(has), sum(map(_size, has.values()))) for name, has in found if has]

    def close(self) -> None:
        """Nothing is open."""


def _size(entry: Any) -> int:
    return len(json.dumps(entry))


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        return deepcopy(EMPTY)
    except (OSError, ValueError) as error:
        raise StateError(
            f"state.path: {path}: {error}; restore it from a copy, or move it away to begin anew"
        ) from error
    return found


def _write(path: Path, text: str) -> None:
    """Returns once the text is safe on the disk."""
    new = path.with_suffix(".new")
    with new.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _hold(path: Path) -> int | None:
    """The lock, which the system takes back from a process that ends, however it ends."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"state.path: {path}: {error.strerror}") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(lock, 20).decode()
        os.close(lock)
        raise StateHeldError(f"{path} is held by process {holder}: stop the pipeline that runs there") from error
    os.ftruncate(lock, 0)
    os.pwrite(lock, str(os.getpid()).encode(), 0)
    return lock
