"""How long a pipeline waits once it is asked to stop."""

from __future__ import annotations

import signal
import time
from contextlib import suppress
from pathlib import Path

from testkit.running import Ended, Running

LONGEST_WAIT = 2.0
"""In seconds, from SIGTERM on."""
_STEP = 0.01
_LOOK = 0.2
"""For so many seconds a pipeline is looked at that may wait."""
_IDLE = 0.05
"""A pipeline that waits is busy for a smaller share of the time: it looks now and then whether it is to stop."""


def comes_to_its_wait(process: Running) -> None:
    """Waits until the pipeline waits for something, however slow the machine is."""
    deadline = time.monotonic() + 60
    before = _busy(process)
    while process.process.poll() is None:
        time.sleep(_LOOK)
        now = _busy(process)
        if sum(seconds - before.get(thread, 0.0) for thread, seconds in now.items()) < _LOOK * _IDLE:
            return
        assert time.monotonic() < deadline, f"the pipeline never came to a wait:\n{process.log}"
        before = now


def stopped(process: Running) -> tuple[Ended, float]:
    """Asks a pipeline to stop.

    Returns:
        how it ended, and for how many seconds it waited until it was last seen. What its threads worked meanwhile does
        not count, nor that they could not for want of a processor, nor that who looks could not: a machine that does
        much else is no fault of the pipeline's.
    """
    before, asked = _busy(process), time.monotonic()
    after, lasted = before, 0.0
    process.process.send_signal(signal.SIGTERM)
    while process.process.poll() is None and lasted < 60:
        lasted = time.monotonic() - asked
        after = {**after, **_busy(process)}
        time.sleep(_STEP)
    return process.ended(), lasted - sum(seconds - before.get(thread, 0.0) for thread, seconds in after.items())


def _busy(process: Running) -> dict[str, float]:
    """For how many seconds each thread has run, or was ready to run and got no processor; none where it has ended."""
    found: dict[str, float] = {}
    with suppress(FileNotFoundError, ProcessLookupError):  # who forked it hears of its end first
        for thread in Path(f"/proc/{process.process.pid}/task").iterdir():
            with suppress(OSError):
                ran, waited, *_ = (thread / "schedstat").read_text().split()
                found[thread.name] = (int(ran) + int(waited)) / 1e9
    return found
