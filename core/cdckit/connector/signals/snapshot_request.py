"""What the signals `execute-snapshot` and `stop-snapshot` ask for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

from cdckit.connector.signals.signal import Signal
from cdckit.java.regex import UserPattern, compile_java


@dataclass(frozen=True, slots=True)
class Condition:
    """Which part of some tables or collections to read.

    Attributes:
        pattern: matches their names.
        filter: SQL for a table, a query document for a collection.
    """

    pattern: UserPattern
    filter: Any


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """Some tables or collections, read while the log is followed or while it waits.

    Attributes:
        patterns: match the names of what to read.
        type: `incremental` or `blocking`.
        conditions: which part of them.
        surrogate_key: a column to go by instead of the key, or None.
    """

    patterns: tuple[UserPattern, ...]
    type: Literal["incremental", "blocking"]
    conditions: tuple[Condition, ...] = ()
    surrogate_key: str | None = None

    @classmethod
    def of(cls, signal: Signal) -> Self:
        """The request that a signal makes.

        Raises:
            ValueError: it cannot be understood; the message says what should stand there.
        """
        kind = str(signal.data.get("type", "incremental")).lower()
        if kind not in ("incremental", "blocking"):
            raise ValueError(f"signal '{signal.id}': type should be incremental or blocking, not '{kind}'")
        given, key = signal.data.get("additional-conditions") or [], signal.data.get("surrogate-key")
        if not isinstance(given, list):
            raise ValueError(f"signal '{signal.id}': additional-conditions should be a list")  # noqa: TRY004
        if not isinstance(key, str | None):
            raise ValueError(f"signal '{signal.id}': surrogate-key should be the name of a column")  # noqa: TRY004
        conditions = tuple(_condition(signal, one) for one in given)
        way: Literal["incremental", "blocking"] = "blocking" if kind == "blocking" else "incremental"
        return cls(_patterns(signal), way, conditions, key)

    def chosen(self, names: Iterable[str]) -> list[str]:
        """Those of the captured names that are to be read, in the order of the patterns."""
        known = list(names)
        found = (name for pattern in self.patterns for name in known if pattern.fullmatch(name))
        return list(dict.fromkeys(found))

    def filter_of(self, name: str) -> Any:
        """The condition for one of them, or None."""
        return next((one.filter for one in self.conditions if one.pattern.fullmatch(name)), None)


@dataclass(frozen=True, slots=True)
class StopRequest:
    """What not to read any more: some, or all where there are no patterns."""

    patterns: tuple[UserPattern, ...]

    @classmethod
    def of(cls, signal: Signal) -> Self:
        """The request that a signal makes.

        Raises:
            ValueError: a name is no regular expression.
        """
        return cls(_patterns(signal, required=False))

    def stops(self, name: str) -> bool:
        """Whether this one is not to be read any more."""
        return not self.patterns or any(pattern.fullmatch(name) for pattern in self.patterns)


def _patterns(signal: Signal, *, required: bool = True) -> tuple[UserPattern, ...]:
    given = signal.data.get("data-collections") or []
    if not isinstance(given, list) or (required and not given):
        raise ValueError(f"signal '{signal.id}': data-collections should be a list of names or regular expressions")
    return tuple(_pattern(str(name)) for name in given)


def _pattern(name: str) -> UserPattern:
    """A regular expression; `"a"."b"` stands for names as they are, dots in them included."""
    parts = re.findall(r'"([^"]*)"', name)
    if parts and name == ".".join(f'"{part}"' for part in parts):
        return compile_java(re.escape(".".join(parts)))
    return compile_java(name, ignore_case=True, option="data-collections")


def _condition(signal: Signal, given: Any) -> Condition:
    if not isinstance(given, dict) or "data-collection" not in given or "filter" not in given:
        raise ValueError(
            f"signal '{signal.id}': each of additional-conditions should have a data-collection and a filter"
        )
    return Condition(_pattern(str(given["data-collection"])), given["filter"])
