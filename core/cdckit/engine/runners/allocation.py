"""The C library's allocator, set for a process that holds a few large blocks for a short time each."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_M_MMAP_THRESHOLD = -3
"""Its number in glibc's `malloc.h`."""
_LARGE = 1 << 18
"""Twice what is received at a time, which is frequent; rows, messages and batches that are longer are few."""
_VARIABLE = "MALLOC_MMAP_THRESHOLD_"


def return_large_blocks() -> None:
    """Has large blocks go back to the system when they are let go of. For the whole process, where it has glibc.

    What `MALLOC_MMAP_THRESHOLD_` says stays, and so does another allocator.
    """
    # By default the first large block that is freed moves all later ones of its size into the heap, for good. There
    # they leave holes between small objects, the more so the less even the pieces are in which bytes arrive: with rows
    # of 1 MB the peak was 95 to 127 MiB, by the load of the machine, and is 82 with blocks of their own.
    if _VARIABLE not in os.environ:
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)
