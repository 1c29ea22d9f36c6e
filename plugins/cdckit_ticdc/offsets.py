"""How far topics have been read: for each partition where to go on, and up to which time rows are delivered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cdckit import Offset, StateError
from cdckit.connector.damage import DAMAGE, reason_of


class Partition(NamedTuple):
    """One partition of a topic, or a file."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic} [{self.number}]"


@dataclass(frozen=True, slots=True)
class LogOffset:
    """A place in all partitions.

    Attributes:
        resume: where each partition is read on: before the first row that is not delivered.
        read: up to where each was read, where that is beyond `resume`.
        watermark: up to which commit_ts rows are delivered in every partition; 0: not known.
        at_watermark: which rows of just that time were delivered.
    """

    resume: Mapping[Partition, int] = field(default_factory=dict)
    read: Mapping[Partition, int] = field(default_factory=dict)
    watermark: int = 0
    at_watermark: tuple[str, ...] = ()

    def was_read(self, partition: Partition) -> int:
        """Up to where the partition was read."""
        return self.read.get(partition, self.resume.get(partition, 0))

    def to_json(self) -> Offset:
        """The offset as the state keeps it."""
        beyond = {partition: at for partition, at in self.read.items() if at != self.resume.get(partition)}
        made: Offset = {"partitions": _nested(self.resume)}
        if beyond:
            made["read"] = _nested(beyond)
        if self.watermark:
            made["watermark"] = self.watermark
        if self.at_watermark:
            made["at_watermark"] = list(self.at_watermark)
        return made

    @classmethod
    def from_json(cls, offset: Mapping[str, Any]) -> LogOffset:
        """What `to_json` gave.

        Raises:
            StateError: it is nothing of that kind.
        """
        try:
            return cls(
                _flat(offset.get("partitions", {})),
                _flat(offset.get("read", {})),
                int(offset.get("watermark", 0)),
                tuple(offset.get("at_watermark", ())),
            )
        except DAMAGE as error:
            raise StateError(f"the offset {offset} does not say where topics are: {reason_of(error)}") from error


def _nested(places: Mapping[Partition, int]) -> dict[str, dict[str, int]]:
    made: dict[str, dict[str, int]] = {}
    for partition in sorted(places):
        made.setdefault(partition.topic, {})[str(partition.number)] = places[partition]
    return made


def _flat(nested: Mapping[str, Mapping[str, int]]) -> dict[Partition, int]:
    return {Partition(topic, int(number)): int(at) for topic, found in nested.items() for number, at in found.items()}
