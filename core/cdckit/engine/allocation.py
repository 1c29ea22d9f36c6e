"""The C library's allocator, set for a process that holds a few large blocks for a short time each."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache

LARGE = 1 << 18
"""A block of so many bytes is large: twice what is received at a time, which is frequent."""
_M_MMAP_THRESHOLD = -3
"""Its number in glibc's `malloc.h`."""
_VARIABLE = "MALLOC_MMAP_THRESHOLD_"


@cache
def return_large_blocks() -> None:
    """Has large blocks go back to the system when they are let go of. For the whole process, where it has glibc.

    What `MALLOC_MMAP_THRESHOLD_` says stays, and so does another allocator. It is for processes that meet rows of that
    length: where the large blocks are batches of short ones, new pages for each of these cost up to 5 % of the CPU.
    """
    # By default the first large block that is freed moves all later ones of its size into the heap, for good. There
    # they leave holes between small objects, the more so the less even the pieces are in which bytes arrive: with rows
    # of 1 MB the peak was 95 to 127 MiB, by the load of the machine.
    if _VARIABLE not in os.environ:
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE)
