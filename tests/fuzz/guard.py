"""What counts as a hang, and what as too much memory."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 20
"""CPU time after which something counts as never ending; a case takes a few milliseconds."""
MEBIBYTES = 100
"""More memory than before that counts as too much for a case of some kilobytes."""


@contextmanager
def limited(case: object, *expected: type[Exception]) -> Iterator[None]:
    """Fails where the block takes too much CPU time or memory, or raises anything but what is expected."""

    def too_long(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, too_long)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    except expected:
        pass
    except BaseException as error:
        raise AssertionError(f"{type(error).__name__}: {error}: for {case!r}") from error
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
    assert grown < MEBIBYTES * 1024, f"{grown // 1024} MiB more for {case!r}"
