"""How many of the machine's processors a measured program has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def confined(processors: int | None) -> Iterator[None]:
    """Lets this thread, and whatever it starts, have so many processors until the block ends; None: as many as before.

    Children inherit it (sched_setaffinity(2)), and Java sizes its pools of threads by it.

    Raises:
        ValueError: there are fewer.
    """
    before = os.sched_getaffinity(0)
    if processors is not None and processors > len(before):
        raise ValueError(f"there are {len(before)} processors, and not {processors}")
    os.sched_setaffinity(0, sorted(before)[:processors])
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
