"""What the topics of the state store `kafka` have of one pipeline: keys and values of messages.

A key is a list as Kafka Connect's own are in a topic of offsets, `["cdckit", {"pipeline": NAME, …}]`, so that whoever
reads such a topic passes it over; a value is the JSON of what is saved, and none where that was removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from cdckit import HistoryEntry, HistorySize, StateError
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit_kafka.state.writer import Saved

FORMAT = 1
"""The version of the messages, which a state has of itself."""
_OFFSET, _FORMAT, _VALUE, _HISTORY, _POSITION = "offset", "format", "value", "history", "position"


def text_of(value: Any) -> bytes:
    """A value as a message has it."""
    return json.dumps(value, separators=(",", ":")).encode()


class SavedState:
    """One pipeline's state, put together out of messages.

    Args:
        pipeline: the pipeline's name.
        place: where it is, for messages.
    """

    def __init__(self, pipeline: str, place: str) -> None:
        self._pipeline = pipeline
        self._place = place
        self._begin = self._key()[:-2] + b","
        self._parts: dict[str, bytes] = {}
        self._values: dict[str, bytes] = {}
        self._histories: dict[str, dict[str, bytes]] = {}

    def take(self, key: bytes | None, value: bytes | None) -> None:
        """Notes a message of a topic.

        Raises:
            StateError: it is this pipeline's, and damaged.
        """
        if key is None or not key.startswith(self._begin):
            return
        try:
            part = json.loads(key)[1]
            if _HISTORY in part:
                _put(self._histories.setdefault(part[_HISTORY], {}), part[_POSITION], value)
            elif _VALUE in part:
                _put(self._values, part[_VALUE], value)
            else:
                _put(self._parts, part["state"], value)
        except DAMAGE as error:
            raise self._damaged(reason_of(error), key) from error

    def take_all(self, messages: Iterable[Saved]) -> None:
        """Notes what was written."""
        for message in messages:
            self.take(*message)

    def require_format(self) -> bool:
        """Whether anything is there.

        Raises:
            StateError: another version wrote it.
        """
        found = self._read(self._parts.get(_FORMAT))
        if found not in (None, FORMAT):
            raise StateError(
                f"state store, {self._place}: the state of '{self._pipeline}' has format {found}, this version of "
                f"cdckit reads format {FORMAT}",
                number="CDC7303",
            )
        return found is not None

    def offset(self) -> dict[str, Any] | None:
        """The saved offset, or None."""
        found = self._read(self._parts.get(_OFFSET))
        if not isinstance(found, dict | None):
            raise self._damaged("the offset is no JSON object", str(found).encode())
        return found

    def value(self, key: str) -> Any:
        """The value under a key, or None."""
        return self._read(self._values.get(key))

    def entries(self, history: str, up_to: str | None) -> Iterator[HistoryEntry]:
        """A history in order."""
        found = sorted(self._histories.get(history, {}).items())
        return iter([HistoryEntry(at, self._read(entry)) for at, entry in found if up_to is None or at <= up_to])

    def sizes(self) -> list[HistorySize]:
        """The histories that have entries."""
        found = sorted(self._histories.items())
        return [HistorySize(name, len(kept), sum(map(len, kept.values()))) for name, kept in found if kept]

    def format_saved(self) -> Saved:
        """The message that tells which version wrote the state."""
        return Saved(self._key(state=_FORMAT), text_of(FORMAT))

    def offset_saved(self, offset: dict[str, Any] | None) -> Saved:
        """The message that saves an offset."""
        return Saved(self._key(state=_OFFSET), None if offset is None else text_of(offset))

    def value_saved(self, key: str, value: Any) -> Saved:
        """The message that keeps a value."""
        return Saved(self._key(value=key), None if value is None else text_of(value))

    def entries_saved(self, history: str, entries: Iterable[HistoryEntry]) -> list[Saved]:
        """The messages that add entries."""
        return [Saved(self._key(history=history, position=at), text_of(entry)) for at, entry in entries]

    def others_removed(self, history: str, kept: Iterable[Saved]) -> list[Saved]:
        """The messages that take away what a history has beside the entries of some."""
        stay = {message.key for message in kept}
        there = (self._key(history=history, position=at) for at in self._histories.get(history, {}))
        return [Saved(key, None) for key in there if key not in stay]

    def _key(self, **part: str) -> bytes:
        return text_of(["cdckit", {"pipeline": self._pipeline, **part}])

    def _read(self, text: bytes | None) -> Any:
        try:
            return None if text is None else json.loads(text)
        except DAMAGE as error:
            raise self._damaged(reason_of(error), text or b"") from error

    def _damaged(self, reason: str, text: bytes) -> StateError:
        return StateError(
            f"state store, {self._place}: what it has of pipeline '{self._pipeline}' is damaged ({reason}): "
            f"{text[:80].decode(errors='replace')}; write the message anew, or give the pipeline another name to start "
            "anew (with a new snapshot)",
            number="CDC7106",
        )


def _put(there: dict[str, bytes], name: str, value: bytes | None) -> None:
    if value is None:
        there.pop(name, None)
    else:
        there[name] = value
