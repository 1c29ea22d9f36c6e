"""Waits that a stop ends: for a server's answer, a name, a client library's call.

A signal is heard by the main thread alone. While that waits within `ended_by_stop`, a wish to stop is raised there as
an error, at once; anywhere else it is asked for between batches. What waits in C, deaf to signals, or in a client
library's threads goes through `answer_of`, which leaves it behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TypeVar

from cdckit.errors import StoppedError

Answer = TypeVar("Answer")


class EndedByStop:
    """A stretch in which the main thread only waits; it may be left behind at any instruction.

    Raises:
        StoppedError: the process was asked to stop, be it before.
    """

    __slots__ = ()
    _depth = 0
    _stopped = False

    def __enter__(self) -> None:
        if _is_main():
            EndedByStop._depth += 1
            if EndedByStop._stopped:
                EndedByStop._depth -= 1
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
            raise StoppedError

    @classmethod
    def begin(cls) -> None:
        """Another run begins in this process, which nobody has asked to stop."""
        cls._stopped, cls._depth = False, 0


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
    found: list[Answer] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again by who waits
            errors.append(error)
        finally:
            done.set()

    with ended_by_stop():
        threading.Thread(target=run, name="wait", daemon=True).start()
        done.wait()
    if errors:
        raise errors[0]
    return found[0]


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()
