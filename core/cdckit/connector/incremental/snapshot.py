"""Does what signals ask for: chunk after chunk, without what the log itself tells between a chunk's two watermarks."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from cdckit.connector.incremental.chunks import Chunk, Chunks, NotYetError, UnreadableError
from cdckit.connector.incremental.state import IncrementalState, Wanted
from cdckit.connector.incremental.watermarks import Watermarks
from cdckit.connector.incremental.window import Window
from cdckit.connector.notifications.notifications import Notifications
from cdckit.connector.notifications.snapshots import IncrementalSnapshotNotices, ScanStatus
from cdckit.connector.signals.signal import (
    EXECUTE_SNAPSHOT,
    LOG,
    PAUSE_SNAPSHOT,
    RESUME_SNAPSHOT,
    STOP_SNAPSHOT,
    Signal,
    one_line,
)
from cdckit.connector.signals.snapshot_request import SnapshotRequest, StopRequest
from cdckit.errors import ConfigError

log = logging.getLogger("cdckit.snapshot")

Row = TypeVar("Row")
Action = Callable[[Signal], None]


@dataclass(frozen=True, slots=True)
class Finished(Generic[Row]):
    """What is left of a chunk at its second watermark.

    Attributes:
        name: whose rows they are.
        rows: those that the log has not told of.
        number: how many were given out before.
    """

    name: str = ""
    rows: list[Row] = field(default_factory=list)
    number: int = 0


class IncrementalSnapshot(Generic[Row]):
    """The snapshots that one source's signals ask for.

    Args:
        chunks: reads rows.
        watermarks: makes the marks; None where the source has no way to, so that no incremental snapshot is taken.
        notifications: told how far it is.
        state: what is left from before.
        actions: what the source does for signals of its own, by their type. Each may raise ValueError.

    Attributes:
        state: what is left to do, for the offset.
    """

    def __init__(
        self,
        chunks: Chunks[Row],
        watermarks: Watermarks | None,
        notifications: Notifications,
        state: IncrementalState,
        actions: dict[str, Action] | None = None,
    ) -> None:
        self.state = state
        self._chunks = chunks
        self._watermarks = watermarks
        self._notices = IncrementalSnapshotNotices(notifications)
        self._window: Window[Row] | None = None
        self._actions: dict[str, Action] = {
            EXECUTE_SNAPSHOT: self._execute,
            STOP_SNAPSHOT: self._stop,
            PAUSE_SNAPSHOT: self._pause,
            RESUME_SNAPSHOT: self._resume,
            LOG: _log,
            **(actions or {}),
        }

    @property
    def busy(self) -> bool:
        """Whether something is to be read, or a mark to be passed."""
        return bool(self._window or self.state.blocking or (self.state.wanted and not self.state.paused))

    # -- signals

    def take(self, signal: Signal) -> None:
        """Does what a signal says, of whatever channel; what cannot be understood is logged and left."""
        act = self._actions.get(signal.type)
        if act is None:
            log.warning("signal '%s': the type '%s' is unknown", one_line(signal.id), one_line(signal.type))
            return
        try:
            act(signal)
        except (ValueError, ConfigError) as error:
            log.warning("signal '%s': %s", one_line(signal.id), one_line(error))

    def _execute(self, signal: Signal) -> None:
        request = SnapshotRequest.of(signal)
        names = request.chosen(self._chunks.captured())
        blocking = request.type == "blocking"
        wanted = [
            self._chunks.wanted(name, request.filter_of(name), request.surrogate_key, blocking=blocking)
            for name in names
        ]
        if not wanted:
            asked = ", ".join(map(str, signal.data["data-collections"]))
            raise ValueError(f"none of what it asks to read is captured: {asked}")
        if blocking:
            self.state = replace(self.state.with_blocking(wanted), signal=signal.id)
            return
        if self._watermarks is None:
            raise ValueError(
                "an incremental snapshot writes watermarks: set signal.data.collection (or read.only, where the source "
                'has it), or ask for "type": "blocking"'
            )
        first = not self.state.wanted
        self.state = replace(self.state.with_wanted(wanted), signal=signal.id)
        log.info("incremental snapshot of %s", ", ".join(names))
        if first:
            self._notices.send("STARTED", signal.id, self.state.names)

    def _stop(self, signal: Signal) -> None:
        request = StopRequest.of(signal)
        first = self.state.wanted[:1]
        left = tuple(one for one in self.state.wanted if not request.stops(one.name))
        if left == self.state.wanted:
            log.warning("signal '%s': nothing of it is being read", one_line(signal.id))
            return
        kept = replace(self.state, wanted=left)
        self.state = kept if left[:1] == first else kept.from_the_beginning()
        log.info("incremental snapshot stopped; %d tables or collections left", len(left))
        if not left:
            self.state = replace(self.state, paused=False)
            self._notices.send("ABORTED", signal.id)

    def _pause(self, signal: Signal) -> None:
        self._turn(signal, paused=True)

    def _resume(self, signal: Signal) -> None:
        self._turn(signal, paused=False)

    def _turn(self, signal: Signal, *, paused: bool) -> None:
        if not self.state.wanted or self.state.paused == paused:
            asked = "pause" if paused else "resume"
            log.info("signal '%s': there is no incremental snapshot to %s", one_line(signal.id), asked)
            return
        self.state = replace(self.state, paused=paused)
        log.info("incremental snapshot %s", "paused" if paused else "resumed")
        self._notices.send("PAUSED" if paused else "RESUMED", signal.id, self.state.names)

    def unblocked(self) -> None:
        """What the log has waited for is read."""
        self.state = replace(self.state, blocking=())

    # -- chunks

    def advance(self) -> bool:
        """Reads the next chunk, if one is due, between its watermarks.

        Returns:
            Whether the offset that knows of it is to be saved before more is given out: where no mark is waited for,
            and before the first chunk of a table or collection (`Source.with_chunks`).

        Raises:
            RetriableSourceError: the source is away.
            SourceError: it refuses.
        """
        before = self.state
        self._advance()
        return self.state != before and (self.state.after is None or not self.waits)

    def _advance(self) -> None:
        state, watermarks = self.state, self._watermarks
        if watermarks is None or self._window is not None or not state.wanted or state.paused:
            return
        try:
            if not self._chunks.ready(state.wanted[0]):
                return
        except UnreadableError as error:
            self._refuse(error)
            return
        window: Window[Row] = Window(str(uuid.uuid4()), is_open=watermarks.opens_at_once)
        # The order is what makes it right (DBLog, "A Watermark Based Change-Data-Capture Framework"): the chunk sees
        # all that stands in the log before the first mark, and what is committed between the marks takes the chunk's
        # row away. So a row that is left is as new as all that the log has told by the second mark, behind which it is
        # given out.
        watermarks.low(window.id)
        if self._fill(window):
            watermarks.high(window.id)
            self._window = window

    def _fill(self, window: Window[Row]) -> bool:
        """The next rows of whatever is to be read; false where they cannot be read now."""
        while self.state.wanted:
            wanted = self.state.wanted[0]
            try:
                chunk, last = self._next_chunk(wanted)
            except UnreadableError as error:
                self._refuse(error)
                continue
            except NotYetError:
                return False
            if chunk is None and last:
                return False
            # A chunk in the middle may be empty, where a condition leaves its rows out; at the end that says that all
            # is read.
            if chunk is not None and (chunk.rows or chunk.after != self.state.last):
                window.wanted, window.rows, window.after = wanted, dict(chunk.rows), chunk.after
                window.size = len(chunk.rows)
                self._tell(chunk)
                return True
            self._done("EMPTY" if self.state.last is None else "SUCCEEDED")
        return True

    def _next_chunk(self, wanted: Wanted) -> tuple[Chunk[Row] | None, bool]:
        """The next chunk, and whether there is one: it may not be possible to read it now."""
        columns = tuple(self._chunks.key_columns(wanted))
        if not self.state.fits(columns):
            log.info("%s has the key %s now: its incremental snapshot begins anew", wanted.name, ", ".join(columns))
            self.state = self.state.from_the_beginning()
        if self.state.last is None:
            # The end is fixed at the begin: rows with greater keys come by the log, and a table that grows would never
            # end.
            self.state = replace(self.state, last=self._chunks.last(wanted))
        self.state = replace(self.state, columns=columns)
        state = self.state
        if state.last is None or state.after == state.last:
            return None, False
        return self._chunks.read(wanted, state.after, state.last), True

    def _tell(self, chunk: Chunk[Row]) -> None:
        state, text = self.state, self._chunks.text
        self._notices.in_progress(state.signal, state.names, state.names[0], text(chunk.after), text(state.last))

    def _refuse(self, error: UnreadableError) -> None:
        """The first of what is wanted cannot be read."""
        log.warning("%s is not read: %s", self.state.names[0], error)
        self._done(error.status)

    def _done(self, status: ScanStatus) -> None:
        """The first of what is wanted is done with."""
        state = self.state
        self._notices.scanned(state.signal, state.names, state.names[0], state.rows, status)
        if status in ("SUCCEEDED", "EMPTY"):
            log.info("incremental snapshot of %s is finished, %d rows", state.names[0], state.rows)
        self.state = state.without_first()
        if not self.state.wanted:
            self._notices.send("COMPLETED", state.signal)

    # -- what the log tells

    @property
    def waits(self) -> bool:
        """Whether a chunk is in hand whose second watermark has not been passed."""
        return self._window is not None

    @property
    def reading(self) -> str | None:
        """The name of what the chunk in hand is of, once its first watermark has been passed."""
        window, first = self._window, self.state.wanted[:1]
        if window is None or not window.is_open or not first or first[0] is not window.wanted:
            return None
        return first[0].name

    def changed(self, identities: Iterable[Hashable]) -> None:
        """The log tells of these rows of what is in hand: they are newer there than in the chunk."""
        if self._window is not None:
            for identity in identities:
                self._window.rows.pop(identity, None)

    def redefined(self) -> None:
        """The definition of what is in hand has changed: its chunk is read again."""
        if self._window is not None:
            self._window.wanted = None

    def opens(self, window: str) -> None:
        """The first watermark of a window is passed."""
        if self._window is not None and self._window.id == window:
            self._window.is_open = True

    def waits_for(self, window: str) -> bool:
        """Whether this is the window whose second watermark is waited for."""
        return self._window is not None and self._window.id == window

    def closed(self) -> Finished[Row]:
        """The second watermark is passed: the rows that the log has not told of since the first one."""
        # Only now does the key move on, with the batch that has the rows: a stop before that reads the chunk again.
        window, self._window = self._window, None
        wanted = self.state.wanted[:1]
        if window is None or window.wanted is None or not wanted or wanted[0] is not window.wanted:
            return Finished()  # it was stopped, or there was nothing left to read
        finished = Finished(window.wanted.name, list(window.rows.values()), self.state.total)
        self.state = replace(
            self.state,
            after=window.after,
            rows=self.state.rows + window.size,
            total=self.state.total + len(finished.rows),
        )
        return finished


def _log(signal: Signal) -> None:
    log.info("signal '%s': %s", one_line(signal.id), one_line(signal.data.get("message", "")))
