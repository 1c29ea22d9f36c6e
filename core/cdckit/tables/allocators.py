"""How much memory pyarrow and delta-rs keep that they no longer use, in a process whose sink keeps tables.

Each brings an allocator of its own, which reads an environment variable once: Arrow's when it is first asked for memory
(https://arrow.apache.org/docs/cpp/env_vars.html), that of delta-rs, jemalloc, when the library is loaded
(https://jemalloc.net/jemalloc.3.html#tuning). What a user has set there stands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

ARROW = ("ARROW_DEFAULT_MEMORY_POOL", "system")
"""Its own, mimalloc, takes a third more for the many small columns that wait for a commit, and gives it back late."""
DELTA_RS = ("_RJEM_MALLOC_CONF", "narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0")
"""One arena in the place of four a processor: what one commit has freed the next one finds, whichever threads write it.
What it does not use goes back to the system within a second; at once, a merge would take twice the CPU."""


def load_arrow() -> None:
    """Loads pyarrow, if it is not loaded yet, to take memory from the system's allocator.

    With what it imports it takes as much memory as all the rest of a process that keeps changelogs, which do without:
    what works by pyarrow is imported where it is needed, behind a call of this.
    """
    with _set(*ARROW):
        import pyarrow as pa  # noqa: PLC0415 - what it reads is to be there

        pa.default_memory_pool()


def load_delta_rs() -> None:
    """Loads delta-rs, if it is not loaded yet, to give back what it frees."""
    with _set(*DELTA_RS):
        import deltalake  # noqa: F401, PLC0415 - what it reads is to be there


@contextmanager
def _set(name: str, value: str) -> Iterator[None]:
    """Has a variable unless it is there, and not for programs that are started later."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
