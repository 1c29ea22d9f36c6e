"""The state store `redis`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from cdckit import ConfigError, Finding, HistoryEntry, HistorySize, StateBackend, StateError, StateStore, StateView
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.waiting import let_go
from cdckit_redis.checks import findings
from cdckit_redis.config import RedisStateConfig
from cdckit_redis.connection import RedisConnection
from cdckit_redis.hold import Command, Hold
from cdckit_redis.keys import FORMAT, Keys

_OFFSET, _FORMAT = "offset", "format"
_FIELDS_A_COMMAND = 1000
"""A script can hand on no more than some thousand words at once."""


class RedisBackend(StateBackend):
    """Keeps states in a server."""

    def __init__(self, config: RedisStateConfig) -> None:
        self._config = config

    @classmethod
    def check(cls, config: RedisStateConfig) -> Sequence[Finding]:
        """Logs in, and looks whether the server keeps what it is told."""
        connection = RedisConnection(config)
        try:
            return findings(connection)
        except (ConfigError, StateError) as error:
            return [Finding.of("state store", error)]
        finally:
            connection.close()

    def open(self, pipeline: str) -> StateStore:
        """The state, held."""
        connection = RedisConnection(self._config)
        try:
            return RedisStateStore(connection, pipeline)
        except BaseException:
            connection.close()
            raise

    def view(self, pipeline: str) -> StateView:
        """A look at it."""
        return RedisStateView(RedisConnection(self._config), pipeline)


class SavedState:
    """What the server has of one pipeline.

    Args:
        connection: leads to the server.
        pipeline: the pipeline's name.
        attempts: how often a look is tried; by default as often as the options say.

    Attributes:
        keys: where it is.
    """

    def __init__(self, connection: RedisConnection, pipeline: str, attempts: int | None = None) -> None:
        self.keys = Keys(connection.config.redis_key, pipeline)
        self._connection = connection
        self._attempts = attempts
        self._pipeline = pipeline

    def has_format(self) -> bool:
        """Whether anything is there.

        Raises:
            StateError: another version wrote it.
        """
        found = self._asked("HGET", self.keys.state, _FORMAT)
        if found not in (None, FORMAT):
            raise StateError(
                f"state store, Redis at {self._connection.place}: the state of '{self._pipeline}' has format "
                f"{found.decode(errors='replace')}, this version of cdckit reads format {FORMAT.decode()}: run the "
                "version that wrote it, or name other keys by redis.key",
                number="CDC7303",
            )
        return found is not None

    def offset(self) -> dict[str, Any] | None:
        """The saved offset, or None."""
        found = self._read(self.keys.state, self._asked("HGET", self.keys.state, _OFFSET))
        if not isinstance(found, dict | None):
            raise self._damaged(self.keys.state, f"the offset is no JSON object: {str(found)[:80]}")
        return found

    def value(self, name: str) -> Any:
        """The value of a name, or None."""
        return self._read(self.keys.values, self._asked("HGET", self.keys.values, name.encode()))

    def entries(self, history: str, up_to: str | None) -> Iterator[HistoryEntry]:
        """A history in order."""
        key = self.keys.history(history)
        found = sorted((position.decode(), entry) for position, entry in self._asked("HGETALL", key).items())
        return iter([HistoryEntry(at, self._read(key, entry)) for at, entry in found if up_to is None or at <= up_to])

    def sizes(self) -> list[HistorySize]:
        """The histories that have entries."""
        names = sorted(name.decode() for name in self._asked("SMEMBERS", self.keys.histories))
        found = [(name, self._asked("HVALS", self.keys.history(name))) for name in names]
        return [HistorySize(name, len(entries), sum(map(len, entries))) for name, entries in found if entries]

    def _asked(self, *command: Any) -> Any:
        return self._connection.run(f"reading {command[1]}", lambda execute: execute(*command), self._attempts)

    def _read(self, key: str, text: bytes | None) -> Any:
        try:
            return None if text is None else json.loads(text)
        except DAMAGE as error:
            raise self._damaged(key, f"{reason_of(error)}: {(text or b'')[:80].decode(errors='replace')}") from error

    def _damaged(self, key: str, reason: str) -> StateError:
        return StateError(
            f"state store, Redis at {self._connection.place}: what key {key} has of pipeline '{self._pipeline}' is "
            f"damaged ({reason}); restore it from a copy, or delete the pipeline's keys to start anew (with a new "
            "snapshot)",
            number="CDC7106",
        )


class RedisStateStore(StateStore):
    """A state that is held: each save is one step of the server's, in which it sees whether it still is.

    Args:
        connection: what it is read and written by; it is closed with the store.
        pipeline: the pipeline's name.
    """

    def __init__(self, connection: RedisConnection, pipeline: str) -> None:
        self._connection = connection
        self._saved = SavedState(connection, pipeline)
        self._keys = self._saved.keys
        self._hold = Hold(connection, self._keys, pipeline)
        self._changes = 0
        self._closed = False
        try:
            if not self._saved.has_format():
                self._hold.change("beginning a state", [("HSET", self._keys.state, _FORMAT, FORMAT)])
        except BaseException:
            self.close()
            raise
        connection.opening = False

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        self._hold.require()
        return self._saved.offset()

    def save_offset(self, offset: dict[str, Any] | None) -> None:
        """Makes `offset` the saved one, durably; None forgets it."""
        self._put(self._keys.state, _OFFSET.encode(), offset)

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries durably; an entry at a position that is already there replaces it."""
        self._save(self._keys.history(history), self._added(history, entries))

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries in order of position, those after `up_to` left out."""
        self._hold.require()
        return self._saved.entries(history, up_to)

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts `entries` in the place of the whole history at once."""
        key = self._keys.history(history)
        # Within the script's one step: a reader finds the old history or the new one.
        clear: list[Command] = [("DEL", key), ("SREM", self._keys.histories, history.encode())]
        self._save(key, clear + self._added(history, entries))

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        self._hold.require()
        return self._saved.value(key)

    def put(self, key: str, value: Any) -> None:
        """Keeps a value under `key` durably; None removes it."""
        self._put(self._keys.values, key.encode(), value)

    @property
    def changes(self) -> int:
        """How often it was saved."""
        return self._changes

    def close(self) -> None:
        """Lets go of the state, and of the connection."""
        if not self._closed:
            self._closed = True
            let_go(self._let_go)

    def _let_go(self) -> None:
        with suppress(StateError):  # the sign of life goes away by itself
            self._hold.end()
        self._connection.close()

    def _put(self, key: str, field: bytes, value: Any) -> None:
        self._save(key, [("HDEL", key, field) if value is None else ("HSET", key, field, _text_of(value))])

    def _save(self, key: str, commands: Sequence[Command]) -> None:
        self._hold.change(f"saving in {key}", commands)
        self._changes += 1

    def _added(self, history: str, entries: Iterable[HistoryEntry]) -> list[Command]:
        words = [word for position, entry in entries for word in (position.encode(), _text_of(entry))]
        if not words:
            return []
        key, most = self._keys.history(history), 2 * _FIELDS_A_COMMAND
        fields: list[Command] = [("HSET", key, *words[at : at + most]) for at in range(0, len(words), most)]
        return [("SADD", self._keys.histories, history.encode()), *fields]


class RedisStateView(StateView):
    """A look at a state.

    Args:
        connection: what it is read by; it is closed with the view.
        pipeline: the pipeline's name.
    """

    def __init__(self, connection: RedisConnection, pipeline: str) -> None:
        self._connection = connection
        self._saved = SavedState(connection, pipeline, attempts=1)

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        return self._saved.offset() if self._saved.has_format() else None

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        return self._saved.value(key) if self._saved.has_format() else None

    def history_sizes(self) -> Sequence[HistorySize]:
        """The histories that have entries, by name."""
        return self._saved.sizes() if self._saved.has_format() else []

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()


def _text_of(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
