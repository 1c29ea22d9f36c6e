"""Which server was read last, and in which epoch: an offset that was not saved yet does not tell.

Where the address leads to another server, is read there, and leads back before an offset is saved, the saved one counts
at the former server as if nothing had been read since. What is read from there on is to sort behind what has been.
"""

from __future__ import annotations

from cdckit import StateError, StateStore
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.streaming.opened_log import OpenedLog, OpenLog

KEY = "mysql epoch"
"""What it is kept under in the state store."""


class Epochs:
    """Those of one pipeline.

    Args:
        state: where the last one is kept.
    """

    def __init__(self, state: StateStore) -> None:
        self._state = state
        self._last: tuple[str, int] | None = None
        self._known = False

    def behind_last(self, at: LogOffset) -> LogOffset:
        """A place as it counts at the server that answers now, in an epoch whose positions sort behind all of before.

        Raises:
            StateError: what is kept is damaged.
        """
        last = self._read()
        if last is None or at.server is None:
            return at
        server, epoch = last
        return at.with_changes(epoch=max(at.epoch, epoch if server == at.server else epoch + 1))

    def above(self, open_log: OpenLog) -> OpenLog:
        """Opens the log at such places, and keeps the epoch before anything is read in it."""

        def opened(start: LogOffset, end: LogOffset | None = None) -> tuple[OpenedLog, LogOffset]:
            connection, here = open_log(start, end)
            here = self.behind_last(here)
            self._keep(here)
            return connection, here

        return opened

    def _keep(self, at: LogOffset) -> None:
        # As long as no server was gone over to there is nothing to know.
        if at.server is None or (self._last is None and not at.epoch) or self._last == (at.server, at.epoch):
            return
        self._state.put(KEY, {"server": at.server, "epoch": at.epoch})
        self._last = at.server, at.epoch

    def _read(self) -> tuple[str, int] | None:
        if not self._known:
            self._last, self._known = _last(self._state.get(KEY)), True
        return self._last


def _last(kept: object) -> tuple[str, int] | None:
    if kept is None:
        return None
    match kept:
        case {"server": str(server), "epoch": int(epoch)} if epoch >= 0:
            return server, epoch
    raise StateError(
        f"what the state keeps as '{KEY}' is damaged: {str(kept)[:200]}; restore it from a copy", number="CDC7106"
    )
