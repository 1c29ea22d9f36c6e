"""The contract of a transform (an SMT) and of the predicates that say which records it sees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from cdckit.api.group import Group
from cdckit.api.record import Record


class Sought(NamedTuple):
    """What a transform or a predicate looks for among the topics' names.

    Attributes:
        pattern: its option and that one's value, for messages: `regex 'x.*'`.
        found: whether a topic has matched; None while it has seen none.
    """

    pattern: str
    found: bool | None


class Transform(ABC):
    """One record in, none, one or several out. It is constructed with its config model's instance alone.

    A transform keeps no state that a restart would lose, other than caches.
    """

    @abstractmethod
    def apply(self, record: Record) -> Record | Sequence[Record] | None:
        """The record itself, a new one, several, or None to drop it. The record given is not changed in place."""

    def of_group(self, group: Group) -> Group | None:
        """What becomes of all records of a group alike: the very same that `apply` makes of each.

        None, by default, where it has to see them.
        """
        return None

    @property
    def conceals(self) -> bool:
        """Whether it masks or takes away what nobody behind it is to see; by default it does not.

        A record that cannot be delivered is kept as it is behind the last such transform, or without its values.
        """
        return False

    def sought(self) -> Sought | None:
        """What it looks for among the topics' names; None: nothing, by default."""
        return None

    def close(self) -> None:
        """Nothing to let go of by default."""


class Predicate(ABC):
    """Tells which records a transform is applied to. It is constructed with its config model's instance alone."""

    @abstractmethod
    def test(self, record: Record) -> bool:
        """Whether the record is meant."""

    def sought(self) -> Sought | None:
        """As a transform's."""
        return None
