"""SIGTERM and SIGINT as a wish to stop after the batch in hand."""

from __future__ import annotations

import signal
import threading
from queue import Empty, SimpleQueue
from types import FrameType, TracebackType
from typing import Self

from cdckit.waiting import EndedByStop


class StopSignal:
    """Asked between batches whether to stop. As a context it listens to SIGTERM and SIGINT, and ends waits.

    A second signal of the same kind meets the handler that was there before, so that a stuck pipeline can be ended.
    """

    def __init__(self) -> None:
        self._wanted = False
        # A signal's handler runs between any two steps of the main thread, be it within a wait: it may take no lock, as
        # an Event does, which that holds already. `SimpleQueue.put` is made for it.
        self._woken = SimpleQueue[None]()
        self.signal: int | None = None
        self._before: dict[int, signal._HANDLER] = {}

    def __call__(self) -> bool:
        """Whether the pipeline is to stop."""
        return self._wanted

    def stop(self, number: int | None = None) -> None:
        """Asks the pipeline to stop, as the signal `number` would."""
        self.signal = number
        self._wanted = True
        self._woken.put(None)

    def wait(self, seconds: float) -> bool:
        """Waits up to `seconds`; true as soon as the pipeline is to stop."""
        if self._wanted:
            return True
        try:
            self._woken.get(timeout=max(seconds, 0.0))
        except Empty:
            return self._wanted
        self._woken.put(None)  # for another thread that waits
        return True

    @property
    def interrupted(self) -> bool:
        """Whether it was SIGINT that asked."""
        return self.signal == signal.SIGINT

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            EndedByStop.begin()
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._heard)
        return self

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        self.stop(number)
        signal.signal(number, self._before.pop(number))
        EndedByStop.stop()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()
