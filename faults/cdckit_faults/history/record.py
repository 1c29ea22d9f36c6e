"""A change as a pipeline has delivered it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from testkit.journal import TOMBSTONE, Change, Key


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a table's change.

    Attributes:
        key: whose it is.
        change: what it says: its operation, and the row's token.
        gtid: the transaction that made it; None for rows of a snapshot, and for tombstones.
    """

    key: Key
    change: Change
    gtid: str | None = None


def record_of(topic: str, key: Mapping[str, int], value: Mapping[str, Any] | None) -> Record:
    """The record that an event in Debezium's format is, without schemas.

    Args:
        topic: its name ends with the table's.
        key: the row's primary key.
        value: the envelope; None for a tombstone.
    """
    place = Key(topic.rpartition(".")[2], tuple(key.values()))
    if value is None:
        return Record(place, TOMBSTONE)
    row = value["before"] if value["op"] == "d" else value["after"]
    return Record(place, Change(value["op"], row["token"]), value["source"].get("gtid"))
