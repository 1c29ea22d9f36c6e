"""The contract of a log: messages in partitions, each in the order of its offsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition


class Range(NamedTuple):
    """What a partition holds: from its first offset to the one after its last."""

    low: int
    high: int


class Chunk(NamedTuple):
    """Some messages of one partition.

    Attributes:
        partition: whose.
        messages: in order; may be empty where offsets hold no messages.
        next: the offset after them.
        size: how much of the log they took, in bytes.
    """

    partition: Partition
    messages: list[Message]
    next: int
    size: int


class MessageLog(ABC):
    """Partitions that grow at their end."""

    poll_seconds: float = 0.05
    """How long to wait before asking again whether something came."""

    @abstractmethod
    def ranges(self) -> dict[Partition, Range]:
        """What every partition holds now.

        Raises:
            SourceError: it cannot be told.
        """

    @abstractmethod
    def read(
        self, start: Mapping[Partition, int], end: Mapping[Partition, int] | None, idle_seconds: float
    ) -> Iterator[list[Chunk]]:
        """The messages from `start` on, up to `end`.

        Without end an empty list comes at least each `idle_seconds`, and partitions that appear are read too.

        Raises:
            RetriableSourceError: the log is away for the moment.
            SourceError: it cannot be read.
        """

    def tail(self, partition: Partition, messages: int) -> list[Message]:
        """The last few messages of a partition, to see what kind they are; by default none."""
        return []

    def identities(self) -> dict[str, str]:
        """What tells a topic from another one of the same name; nothing for those where that is not known.

        Raises:
            SourceError: it cannot be told.
        """
        return {}

    def known_ends(self, partitions: Iterable[Partition]) -> dict[Partition, int] | None:
        """The offset after each partition's last message, as cheaply as that is known; None where it is not.

        Raises:
            SourceError: it cannot be told.
        """
        return None

    def commit(self, resume: Mapping[Partition, int]) -> None:
        """Tells the log's own keeper of offsets how far reading has come. Nothing to do by default."""

    def close(self) -> None:
        """Lets go of all resources. May be called twice."""
