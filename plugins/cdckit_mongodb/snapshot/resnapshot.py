"""Collections that `cdc resnapshot` asks for: when their documents are read."""

from __future__ import annotations

import logging
from collections.abc import Callable

from cdckit import StateStore
from cdckit.connector.resnapshot import Resnapshot, pending, settle
from cdckit_mongodb.offsets import FIRST_PLACE, Moment, StreamOffset

log = logging.getLogger("cdckit.mongodb")


class CollectionsAgain:
    """Decides for one source: the stream is read up to where it ended when this was seen first, then the documents.

    Args:
        state: where it is kept what was asked for.
        newest: gives the stream's newest moment.
    """

    def __init__(self, state: Callable[[], StateStore], newest: Callable[[], Moment]) -> None:
        self._state = state
        self._newest = newest
        self._behind: Moment | None = None

    def due(self, at: StreamOffset) -> Resnapshot | None:
        """What is to be read beyond `at`, where everything before that is saved."""
        return pending(self._state(), at.to_json())

    def settled(self, at: StreamOffset) -> None:
        """Everything before `at` is safe."""
        if at.resnapshot is not None and at.resnapshot.done:
            settle(self._state(), at.to_json())

    def follows(self, at: StreamOffset) -> bool:
        """Whether the stream is to be read before these documents."""
        if self._behind is None:
            self._behind = self._newest()
        return at.moment < self._behind

    def begun(self, at: StreamOffset, wanted: Resnapshot) -> StreamOffset:
        """Before a snapshot of these collections; what comes behind it goes on from `at`."""
        self._say(wanted)
        return at.with_changes(snapshot_due=True, snapshot=FIRST_PLACE, resnapshot=wanted)

    def ended(self, at: StreamOffset, wanted: Resnapshot) -> StreamOffset:
        """Behind it, where its parts are read together."""
        self._say(wanted)
        return at.with_changes(after_snapshot=True, resnapshot=wanted.finished())

    def _say(self, wanted: Resnapshot) -> None:
        self._behind = None
        log.info("%s: read again (cdc resnapshot)", ", ".join(wanted.tables))


def plain(at: StreamOffset) -> StreamOffset:
    """`at` without collections that another runner has begun to read again; the state knows of them, too."""
    if at.resnapshot is None or at.resnapshot.done:
        return at
    return at.with_changes(snapshot_due=False, snapshot=None, resnapshot=None)
