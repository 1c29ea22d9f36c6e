"""What was committed: each change of each key, told apart by a token that no other change has."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple


class Key(NamedTuple):
    """A row's place: its table and the values of its primary key."""

    table: str
    values: tuple[int, ...]


class Change(NamedTuple):
    """One record that a change makes.

    Attributes:
        op: `c`, `u`, `d`, in a snapshot `r`, or `tombstone`.
        token: the row's after the change, and before it for `d`; a tombstone has none.
    """

    op: str
    token: str | None = None


TOMBSTONE = Change("tombstone")


class Journal:
    """The changes of each key in commit order. A row's primary key changes as `d` here and `c` there."""

    def __init__(self) -> None:
        self._changes: dict[Key, list[Change]] = defaultdict(list)
        self._touched: list[Key] = []
        self._lock = threading.Lock()

    def commits(self, changes: Sequence[tuple[Key, Change]]) -> None:
        """Notes a transaction. It is called just before the commit, so that nothing is in the log that is not here."""
        with self._lock:
            for key, change in changes:
                self._touched.append(key)
                self._changes[key].append(change)
                if change.op == "d":
                    self._changes[key].append(TOMBSTONE)

    def lengths(self) -> dict[Key, int]:
        """How many changes each key has had so far."""
        with self._lock:
            return {key: len(changes) for key, changes in self._changes.items()}

    def of(self, key: Key) -> Sequence[Change]:
        """The changes of one key so far."""
        return self._changes.get(key, ())

    def touched(self, first: int) -> Sequence[Key]:
        """The keys of the changes from number `first` on, each as often as it was changed."""
        with self._lock:
            return self._touched[first:]

    def changes(self) -> dict[Key, list[Change]]:
        """Everything; the writers must have ended."""
        return dict(self._changes)
