"""A process that works on a component until its suite kills it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from cdckit.testing.restart import child_environment


@contextmanager
def working(module: str, *given: Any) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
    """The process, and what it prints. It is killed at the end, if not before.

    Args:
        module: what it runs.
        given: what it is given, pickled, by standard input.
    """
    process = subprocess.Popen(  # noqa: S603 - the suites' own programs
        [sys.executable, "-m", module], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=child_environment()
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        process.stdin.write(pickle.dumps(given))
        process.stdin.close()
        try:
            yield process, process.stdout
        finally:
            process.kill()


def rounds_told(lines: IO[bytes]) -> int:
    """The number in the next line: how much the process has made safe so far."""
    line = lines.readline()
    assert line, "the process ended by itself; what it says stands on standard error"
    return int(line)
