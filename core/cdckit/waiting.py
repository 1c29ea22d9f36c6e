"""Waits that a stop ends: for a server's answer, a name, a client library's call.

A signal is heard by the main thread alone. While that waits within `ended_by_stop`, a wish to stop is raised there as
an error, at once; anywhere else it is asked for between batches. What waits in C, deaf to signals, or in a client
library's threads goes through `answer_of`, which leaves it behind; the end of a connection through `let_go`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Generic, TypeVar

from cdckit.errors import StoppedError

Answer = TypeVar("Answer")

_MOMENT = 0.3
"""So many seconds a connection may take to end once the pipeline is to stop."""


class EndedByStop:
    """A stretch in which the main thread only waits; it may be left behind at any instruction.

    Raises:
        StoppedError: the process was asked to stop, be it before.
    """

    __slots__ = ()
    _depth = 0
    _stopped = False
    ended = False
    """Whether a wait was ended, so that threads may wait on, or a client library's connection is in no fit state."""

    def __enter__(self) -> None:
        if _is_main():
            # Before the wish is looked for: a signal that comes between the two finds a wait in hand, and raises in it.
            EndedByStop._depth += 1
            if EndedByStop._stopped:
                EndedByStop._depth -= 1
                EndedByStop.ended = True
                raise StoppedError

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _is_main():
            EndedByStop._depth -= 1

    @classmethod
    def stop(cls) -> None:
        """Ends the wait in hand and all later ones; for a signal's handler.

        Raises:
            StoppedError: there is one in hand.
        """
        cls._stopped = True
        if cls._depth:
            cls.ended = True
            raise StoppedError

    @classmethod
    def is_wanted(cls) -> bool:
        """Whether the process was asked to stop."""
        return cls._stopped

    @classmethod
    def begin(cls) -> None:
        """Another run begins in this process, which nobody has asked to stop."""
        cls._stopped, cls._depth, cls.ended = False, 0, False


_ENDED_BY_STOP = EndedByStop()


def ended_by_stop() -> EndedByStop:
    """A context for waits that a stop ends."""
    return _ENDED_BY_STOP


def answer_of(call: Callable[[], Answer]) -> Answer:
    """What a call gives that may take long and cannot be interrupted; a stop leaves it behind in a thread of its own.

    Raises:
        StoppedError: the process was asked to stop meanwhile.
        BaseException: as the call.
    """
    if not _is_main():
        return call()
    asked = _Asked(call)
    with ended_by_stop():
        pass  # a stop may be wanted already
    asked.start()  # not within: an error in the middle of that meets what the new thread has done by then
    with ended_by_stop():
        asked.done.wait()
    if asked.errors:
        raise asked.errors[0]
    return asked.found[0]


def let_go(end: Callable[[], object]) -> None:
    """Ends a connection, which may take long where nobody answers; a stop leaves that behind after a moment.

    Raises:
        BaseException: as the call, where no stop is asked for.
    """
    if not EndedByStop.is_wanted():
        with suppress(StoppedError):
            answer_of(end)
        return
    asked = _Asked(end)
    asked.start()
    if not asked.done.wait(_MOMENT):
        EndedByStop.ended = True


class _Asked(threading.Thread, Generic[Answer]):
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Answer]) -> None:
        super().__init__(name="wait", daemon=True)
        self.found: list[Answer] = []
        self.errors: list[BaseException] = []
        self.done = threading.Event()
        self._call = call

    def run(self) -> None:
        try:
            self.found.append(self._call())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            self.errors.append(error)
        finally:
            self.done.set()


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
