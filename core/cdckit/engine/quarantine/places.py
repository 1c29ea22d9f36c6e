"""Where a pipeline's quarantine is: a folder, or a topic of Kafka."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.quarantine.store import Quarantined, QuarantineStore, Stage, kept_in_log_order, kept_records


class Quarantine(Protocol):
    """The quarantine of a pipeline whose state this process holds; its faults are `StateError`s."""

    @property
    def count(self) -> int:
        """How many records it holds."""

    def has(self, id_: str) -> bool:
        """Whether a record is kept already."""

    def add(self, record: Quarantined) -> None:
        """Keeps a record that is not kept already; it is safe after `sync`."""

    def sync(self) -> None:
        """Returns once all that was added is safe."""

    def keys(self) -> dict[str, str]:
        """The keys that have a record here, each with the position of its first one."""

    def remove(self, numbers: Iterable[int]) -> None:
        """Forgets records, durably."""

    def change(self, record: Quarantined, stage: Stage, by: str, reason: str) -> None:
        """Notes where a record has stopped now, durably."""

    def close(self) -> None:
        """Lets go of it; what was not synced may be lost."""


def open_quarantine(errors: ErrorHandling) -> Quarantine:
    """The quarantine of a pipeline that has one; it is made where it is missing.

    Raises:
        StateError: it cannot be opened.
    """
    if errors.topic is not None:
        from cdckit.engine.quarantine.topic.store import TopicStore  # noqa: PLC0415 - an extra's

        return TopicStore(errors.topic)
    assert errors.folder is not None  # such a pipeline is given one
    return QuarantineStore(errors.folder)


def records_kept(errors: ErrorHandling, *, log_order: bool = False) -> Iterator[Quarantined]:
    """The records of a quarantine that may be in use.

    Args:
        errors: says where it is.
        log_order: in the order of the log; else in the order in which they came.

    Raises:
        StateError: it cannot be read.
    """
    if errors.topic is not None:
        from cdckit.engine.quarantine.topic.reading import records_in  # noqa: PLC0415 - an extra's

        return records_in(errors.topic, log_order=log_order)
    assert errors.folder is not None  # such a pipeline is given one
    return (kept_in_log_order if log_order else kept_records)(errors.folder)


def shown_place(errors: ErrorHandling) -> str:
    """What messages call it."""
    return f"topic '{errors.topic.name}'" if errors.topic is not None else str(errors.folder)
