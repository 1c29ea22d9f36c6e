"""Tables or collections that `cdc resnapshot` asks for: when a source reads their rows."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

from cdckit.api.state_store import StateStore
from cdckit.connector.offset import ConnectorOffset
from cdckit.connector.resnapshot import Resnapshot, pending, settle

log = logging.getLogger("cdckit.connector")

At = TypeVar("At", bound=ConnectorOffset)


class RowsAgain(Generic[At]):
    """Decides for one source: the log is read up to where it ended when this was seen first, then the rows.

    Args:
        state: where it is kept what was asked for.
        log_end: gives where the log ends now, as an offset behind the one that it is given.
        lies_before: whether the log is to be read from the first offset up to the second one, which is such an end.
    """

    def __init__(
        self, state: Callable[[], StateStore], log_end: Callable[[At], At], lies_before: Callable[[At, At], bool]
    ) -> None:
        self._state = state
        self._log_end = log_end
        self._lies_before = lies_before
        self._behind: At | None = None
        self._put_off = ""

    def due(self, at: At) -> Resnapshot | None:
        """What is to be read beyond `at`, where everything before that is saved."""
        return pending(self._state(), at.to_json())

    def settled(self, at: At) -> None:
        """Everything before `at` is safe."""
        if at.resnapshot is not None and at.resnapshot.done:
            # Only behind a saved offset that lies beyond the rows: a crash before that finds the wish in the state
            # again.
            settle(self._state(), at.to_json())

    def log_before(self, at: At) -> At | None:
        """Up to where the log is to be read before these rows; None where they come next."""
        # Behind a failover the noted end is a place in another log, which would never be reached.
        if self._behind is None or not at.same_log(self._behind):
            self._behind = self._log_end(at)
        return self._behind if self._lies_before(at, self._behind) else None

    def forget_end(self) -> None:
        """Nothing is due: when something is again, the log's end is asked for anew."""
        self._behind = None

    def put_off(self, wanted: Resnapshot) -> None:
        """They are read another time; said once."""
        if self._put_off != wanted.id:
            self._put_off = wanted.id
            log.warning("%s: not read again (cdc resnapshot) until the database itself is read", _names(wanted))

    def begun(self, at: At, wanted: Resnapshot) -> At:
        """Before a snapshot of these tables; what comes behind it goes on from `at`."""
        self._say(wanted)
        return at.before_rows(wanted)

    def ended(self, at: At, wanted: Resnapshot) -> At:
        """Behind it, where its parts are read together."""
        self._say(wanted)
        return at.with_changes(after_snapshot=True, resnapshot=wanted.finished())

    def _say(self, wanted: Resnapshot) -> None:
        self.forget_end()
        log.info("%s: read again (cdc resnapshot)", _names(wanted))


def _names(wanted: Resnapshot) -> str:
    return ", ".join(wanted.tables)


def without_unfinished(at: At) -> At:
    """`at` without tables that another runner has begun to read again; the state knows of them, too.

    Those that are read in chunks go on behind the last one.
    """
    return at if at.resnapshot is None or at.resnapshot.done or at.snapshot_begun else at.without_snapshot()
