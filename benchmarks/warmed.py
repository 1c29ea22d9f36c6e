"""The client of `benchmarks/warm.py`: what commands take in children of a process that has cdckit loaded."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks import warm
from benchmarks.usage import CommandFailedError, Usage
from testkit.servers.process import tail

VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNTED = re.compile(r"==(\d+)== I\s+refs:\s+([\d,]+)")


class Warm:
    """The warm process of one revision.

    Args:
        python: the one that it is installed for.
        folder: where Valgrind writes.
        counted: whether a command's cost is instructions, in millions, in the place of seconds.
    """

    def __init__(self, python: str, folder: Path, *, counted: bool) -> None:
        self._counts = folder / f"counted-{os.urandom(4).hex()}.log" if counted else None
        valgrind = [] if self._counts is None else [*VALGRIND, f"--log-file={self._counts}"]
        self._process = subprocess.Popen(
            [*valgrind, python, warm.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": "0"},
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def load(self, command: Sequence[str], log: Path) -> Usage:
        """Runs `PYTHON -m cdckit …` in the process itself, which keeps what that has loaded; tells no cost.

        Raises:
            CommandFailedError: it did not exit with 0.
        """
        self._asked(command, log, inside=True)
        return Usage(0, 0, 0)

    def run(self, command: Sequence[str], log: Path) -> Usage:
        """Runs it in a child.

        Raises:
            CommandFailedError: it did not exit with 0.
        """
        took = self._asked(command, log, inside=False)
        return Usage(took["cpu"] if self._counts is None else self._counted(took), took["wall"], took["rss"])

    def _asked(self, command: Sequence[str], log: Path, *, inside: bool) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([command[3:], str(log), inside]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise CommandFailedError(f"the process that was to run {' '.join(command)} has ended")
        took: dict[str, Any] = json.loads(answer)
        if took["status"] != 0:
            raise CommandFailedError(f"{' '.join(command)} exited with {took['status']}:\n{tail(log)}")
        return took

    def _counted(self, took: dict[str, Any]) -> float:
        """What a child has executed, less what its process had when it was made."""
        assert self._counts is not None
        counts = {int(pid): int(count.replace(",", "")) for pid, count in _COUNTED.findall(self._counts.read_text())}
        return (counts[took["pid"]] - counts[took["nothing"]]) / 1e6
