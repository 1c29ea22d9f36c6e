"""Bytes to a descriptor, whole: into a file, or into a pipe that somebody else reads at their own pace."""

from __future__ import annotations

import os
import select
import stat
import time
from collections.abc import Callable
from contextlib import suppress

_STEP_SECONDS = 0.2
_GRACE_AT_STOP = 1.0
"""For so many seconds a reader is waited for that takes nothing, once the pipeline is to stop."""


class NotTakenError(OSError):
    """Whoever reads takes nothing, and the pipeline is to stop."""

    def __init__(self) -> None:
        super().__init__(0, "who reads it takes nothing, and the pipeline is to stop")


def is_file(descriptor: int) -> bool:
    """Whether it is a regular file, whose end can be cut off and which a disk keeps."""
    return stat.S_ISREG(os.fstat(descriptor).st_mode)


def write_whole(descriptor: int, data: bytes, stopping: Callable[[], bool]) -> None:
    """Writes everything; what a file took of a last line that it had no room for is cut off again.

    Raises:
        OSError: not everything was taken.
    """
    if not is_file(descriptor):
        _hand_over(descriptor, data, stopping)
        return
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(descriptor, rest) :]
    except OSError:
        written = len(data) - len(rest)
        with suppress(OSError):
            _take_back(descriptor, written - data.rfind(b"\n", 0, written) - 1)
        raise


def _take_back(file: int, size: int) -> None:
    """Cuts off the last bytes of a file, where they are those that were written last."""
    end = os.lseek(file, 0, os.SEEK_CUR)
    if size and end == os.fstat(file).st_size:
        os.ftruncate(file, end - size)
        os.lseek(file, end - size, os.SEEK_SET)


def _hand_over(descriptor: int, data: bytes, stopping: Callable[[], bool]) -> None:
    """Writes as much at a time as never blocks once there is room, so that a stop is heard while there is none."""
    rest = memoryview(data)
    room = select.poll()
    room.register(descriptor, select.POLLOUT)
    since = time.monotonic()
    while rest:
        if room.poll(_STEP_SECONDS * 1000):
            with suppress(BlockingIOError):  # another process that writes there, too, took the room
                rest = rest[os.write(descriptor, rest[: select.PIPE_BUF]) :]
                since = time.monotonic()
        elif stopping() and time.monotonic() - since > _GRACE_AT_STOP:
            raise NotTakenError
