"""What signals ask of a source while its log is followed: all channels, and what is done between two batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic

from cdckit.api.batch import Batch
from cdckit.api.record import Record
from cdckit.connector.incremental.chunks import Chunks
from cdckit.connector.incremental.listener import SignalListener
from cdckit.connector.incremental.snapshot import Action, IncrementalSnapshot, Row
from cdckit.connector.incremental.state import IncrementalState, Wanted
from cdckit.connector.incremental.watermarks import Watermarks
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.signals.mailbox import Mailbox
from cdckit.connector.signals.options import SignalOptions


class SignalledSnapshots(Generic[Row]):
    """Stands beside whoever reads the log.

    Args:
        config: where signals come from.
        chunks: reads rows.
        marks: makes the watermarks; None where the source has no way to.
        mailbox: signals of other channels than the log.
        notifications: told of snapshots.
        left: what an offset says is left to do.
        actions: what the source does for signals of its own.

    Attributes:
        snapshot: to be told of changed rows of what it is `reading`.
        listener: to be told of the rows of the signal table or collection.
    """

    def __init__(
        self,
        config: SignalOptions,
        chunks: Chunks[Row],
        marks: Watermarks | None,
        mailbox: Mailbox,
        notifications: Notifications,
        left: Mapping[str, Any] | None,
        actions: dict[str, Action] | None = None,
    ) -> None:
        self._mailbox = mailbox
        self._notifications = notifications
        state = IncrementalState.from_json(None if left is None else dict(left))
        self.snapshot: IncrementalSnapshot[Row] = IncrementalSnapshot(chunks, marks, notifications, state, actions)
        self.listener = SignalListener(
            self.snapshot,
            config.signal_data_collection,
            deletes_marks=config.incremental_snapshot_watermarking_strategy == "insert_delete",
            takes="source" in config.channels,
        )

    @property
    def left(self) -> dict[str, Any] | None:
        """What is left to do, for the offset."""
        return self.snapshot.state.to_json()

    def hear(self) -> bool:
        """Takes the signals of other channels than the log; whether there were any."""
        self._mailbox.covered()
        return self._mailbox.hand_out(self.snapshot.take)

    def covered(self) -> None:
        """The runner has taken a batch whose offset knows of all signals so far: channels may let go of them."""
        self._mailbox.covered()

    def between(
        self, standing: Callable[[], Batch], blocking: Callable[[Sequence[Wanted]], Iterator[list[Record]]]
    ) -> Iterator[Batch]:
        """Does between two batches what signals ask for: tables that the log waits for, and the next chunk.

        Args:
            standing: gives a batch whose offset knows what is left to do.
            blocking: reads tables or collections that the log waits for; broken off, they are read anew.
        """
        if self.hear() or self.snapshot.state.blocking:
            yield standing()
            self.covered()
        if wanted := self.snapshot.state.blocking:
            for records in blocking(wanted):
                yield Batch([*records, *self._notifications.take()], None)
            self.snapshot.unblocked()
            yield replace(standing(), save=True)  # whoever stops here, as at a range's end, has them
        if self.snapshot.advance():
            yield replace(standing(), save=True)
