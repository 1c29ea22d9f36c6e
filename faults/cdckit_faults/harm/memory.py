"""Memory that does not do: a control group whose processes the kernel kills, or a limit on the address space."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_ENTER = 'echo $$ > "$0" && exec "$@"'
_LIMIT = 'ulimit -v "$0" && exec "$@"'
_PAGES_BESIDE_MEMORY = 3
"""So many times its memory does a process map."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Words before a command line that limit its memory.

    Attributes:
        how: what limits it, for the table.
        wrapper: the words.
    """

    how: str
    wrapper: Sequence[str]


@contextmanager
def limited(mib: int) -> Iterator[Limit]:
    """A limit of so many MiB: a control group of version 1 or 2 where one can be made, else RLIMIT_AS."""
    group = _group(mib)
    if group is None:
        kib = str(_PAGES_BESIDE_MEMORY * mib * 1024)
        yield Limit("RLIMIT_AS", ("sh", "-c", _LIMIT, kib))
        return
    try:
        yield Limit("control group", ("sh", "-c", _ENTER, str(group / "cgroup.procs")))
    finally:
        _remove(group)


def _group(mib: int) -> Path | None:
    """Makes a control group; None where this user may not, or where it would not limit memory."""
    for root, limit in ((_ROOT / "memory", "memory.limit_in_bytes"), (_ROOT, "memory.max")):
        group = root / f"cdckit-faults-{time.monotonic_ns()}"
        with suppress(OSError):
            group.mkdir()
            try:
                (group / limit).open("r+").close()
                (group / limit).write_text(str(mib << 20))
            except OSError:
                group.rmdir()
            else:
                return group
    return None


def _remove(group: Path) -> None:
    """A group is busy for a moment after its last process has gone."""
    for _ in range(100):
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.02)
