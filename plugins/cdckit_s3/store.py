"""The state store `s3`."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from typing import Any

from cdckit import Finding, HistoryEntry, HistorySize, StateBackend, StateError, StateStore, StateView
from cdckit.connector.damage import DAMAGE
from cdckit.waiting import let_go
from cdckit_s3.config import S3StateConfig
from cdckit_s3.head import NAME, Head, damaged
from cdckit_s3.hold import Hold
from cdckit_s3.objects import PipelineObjects

log = logging.getLogger("cdckit.s3")

_LARGE = 1 << 14
"""Values of more bytes than these have an object of their own, as `state.json` is written with each save."""
_LOOKS = 5
"""How often a look at a state begins anew whose objects are replaced meanwhile."""

Entries = dict[str, Any]
"""Entries of a history by their positions."""


class S3Backend(StateBackend):
    """Keeps states in a bucket."""

    def __init__(self, config: S3StateConfig) -> None:
        self._config = config

    @classmethod
    def check(cls, config: S3StateConfig) -> Sequence[Finding]:
        """Asks for the objects that are there."""
        objects = PipelineObjects(config, "")
        try:
            objects.names()
        except StateError as error:
            return [Finding.of("state store", error)]
        finally:
            objects.close()
        return [Finding("state store", "ok", f"s3://{config.s3_bucket_name}: its objects are made at first use")]

    def open(self, pipeline: str) -> StateStore:
        """The state, held."""
        objects = PipelineObjects(self._config, pipeline)
        try:
            return S3StateStore(objects, pipeline)
        except BaseException:
            objects.close()
            raise

    def view(self, pipeline: str) -> StateView:
        """A look at it."""
        return S3StateView(PipelineObjects(self._config, pipeline))


class Parts:
    """The objects that belong to `state.json`, read once.

    Args:
        objects: those of the pipeline.
    """

    def __init__(self, objects: PipelineObjects) -> None:
        self._objects = objects
        self._known: dict[str, Any] = {}

    def read(self, name: str) -> Any:
        """What an object has; it must not be changed.

        Raises:
            MissingError: it is not there.
            StateError: it is damaged, or cannot be read.
        """
        if name not in self._known:
            found = self._objects.get(name)
            if found is None:
                raise MissingError(f"state store, {self._objects.place}: {name}, which {NAME} names, is not there")
            try:
                self._known[name] = json.loads(found.body)
            except DAMAGE as error:
                raise damaged(self._objects.place, name, error, found.body) from error
        return self._known[name]

    def write(self, kind: str, content: Any) -> tuple[str, int]:
        """Writes another one, and gives its name and its size in bytes."""
        body = _text_of(content)
        name = self._objects.put_new(kind, body)
        self._known[name] = json.loads(body)
        return name, len(body)

    def history(self, head: Head, name: str) -> Entries:
        """A history as a whole."""
        entries: Entries = {}
        for part, _ in head.histories.get(name, ()):
            entries |= self.read(part)
        return entries

    def value(self, head: Head, key: str) -> Any:
        """A value; it must not be changed."""
        return self.read(head.large[key]) if key in head.large else head.values.get(key)

    def forget(self, names: Iterable[str]) -> None:
        """Keeps no longer what is deleted."""
        for name in names:
            self._known.pop(name, None)


class MissingError(StateError):
    """An object is not there that belongs to the state."""


class S3StateStore(StateStore):
    """A state that is held.

    Args:
        objects: those of the pipeline; they are closed with the store.
        pipeline: the pipeline's name.
    """

    def __init__(self, objects: PipelineObjects, pipeline: str) -> None:
        self._objects = objects
        self._parts = Parts(objects)
        self._hold = Hold(objects, pipeline)
        self._changes = 0
        self._closed = False
        try:
            self._delete_left_behind()
        except BaseException:
            self.close()
            raise

    def _delete_left_behind(self) -> None:
        """Deletes what processes have written that were killed before their save was whole."""
        left = set(self._objects.names()) - self._hold.head.parts() - {NAME}
        self._delete(left)

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        self._hold.require()
        return deepcopy(self._hold.head.offset)

    def save_offset(self, offset: dict[str, Any] | None) -> None:
        """Makes `offset` the saved one, durably; None forgets it."""

        def change(head: Head) -> None:
            head.offset = _detached(offset)

        self._save(change)

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries durably; an entry at a position that is already there replaces it."""
        added = dict(entries)

        def change(head: Head) -> None:
            if added:
                head.histories[history] = self._with(head.histories.get(history, []), added)

        self._save(change)

    def _with(self, parts: Sequence[tuple[str, int]], added: Entries) -> list[tuple[str, int]]:
        """A history's objects with one more, which takes in those before it that are no larger: so they stay few."""
        stay = list(parts)
        # As in a log-structured tree: each entry is written again only when its object at least doubles, so a long
        # history costs a logarithm of writes and has as many objects.
        while stay and stay[-1][1] <= len(_text_of(added)):
            added = {**self._parts.read(stay.pop()[0]), **added}
        return [*stay, self._parts.write("history", added)]

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries in order of position, those after `up_to` left out."""
        self._hold.require()
        entries = self._parts.history(self._hold.head, history)
        found = [HistoryEntry(at, deepcopy(entries[at])) for at in sorted(entries) if up_to is None or at <= up_to]
        return iter(found)

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts `entries` in the place of the whole history at once."""
        new = dict(entries)

        def change(head: Head) -> None:
            head.histories.pop(history, None)
            if new:
                head.histories[history] = [self._parts.write("history", new)]

        self._save(change)

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        self._hold.require()
        return deepcopy(self._parts.value(self._hold.head, key))

    def put(self, key: str, value: Any) -> None:
        """Keeps a value under `key` durably; None removes it."""

        def change(head: Head) -> None:
            head.values.pop(key, None)
            head.large.pop(key, None)
            if len(_text_of(value)) > _LARGE:
                head.large[key], _ = self._parts.write("value", value)
            elif value is not None:
                head.values[key] = _detached(value)

        self._save(change)

    @property
    def changes(self) -> int:
        """How often it was saved."""
        return self._changes

    def close(self) -> None:
        """Lets go of the state, and of the connections."""
        if not self._closed:
            self._closed = True
            let_go(self._let_go)

    def _let_go(self) -> None:
        with suppress(StateError):  # a holder that gives no sign of life lets go
            self._hold.end()
        self._objects.close()

    def _save(self, change: Callable[[Head], None]) -> None:
        with self._hold.turn:
            self._hold.require()
            # New objects first, then `state.json` on the condition that it is still the version that was read, then the
            # old ones go. Killed in between, a process leaves objects that nobody names, and the next start deletes
            # them.
            before, head = self._hold.head.parts(), self._hold.head.next()
            change(head)
            self._hold.change(head)
            self._changes += 1
            self._delete(before - head.parts())

    def _delete(self, names: Iterable[str]) -> None:
        """What stays is deleted with the next start."""
        gone = sorted(names)
        self._parts.forget(gone)
        try:
            if gone:
                self._objects.delete(gone)
        except StateError as error:
            log.warning("%s", error)


class S3StateView(StateView):
    """A look at a state, which reads `state.json` each time.

    Args:
        objects: those of the pipeline; they are closed with the view.
    """

    def __init__(self, objects: PipelineObjects) -> None:
        self._objects = objects
        self._parts = Parts(objects)

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        return self._head().offset

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        # A save may delete an object between the two reads of a look; what `state.json` says then names another.
        for _ in range(_LOOKS - 1):
            with suppress(MissingError):
                return self._parts.value(self._head(), key)
        return self._parts.value(self._head(), key)

    def history_sizes(self) -> Sequence[HistorySize]:
        """The histories that have entries, by name."""
        for _ in range(_LOOKS - 1):
            with suppress(MissingError):
                return self._sizes(self._head())
        return self._sizes(self._head())

    def _sizes(self, head: Head) -> list[HistorySize]:
        found = [(name, self._parts.history(head, name)) for name in sorted(head.histories)]
        return [HistorySize(name, len(has), sum(len(_text_of(each)) for each in has.values())) for name, has in found]

    def _head(self) -> Head:
        found = self._objects.get(NAME)
        return Head() if found is None else Head.read(found.body, self._objects.place)

    def close(self) -> None:
        """Ends the connections."""
        self._objects.close()


def _text_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _detached(value: Any) -> Any:
    """What a value is for whoever reads it later."""
    return json.loads(_text_of(value))
