"""Which call of the command is asked for, in what surroundings; a fork of the warm process can become it."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from testkit.warm_python.caller import has_other_copy, is_started_alike

_FILES = 3
_AT_IMPORT = ("LD_", "MALLOC_", "PYICEBERG_", "COVERAGE_")
"""Variables that are looked at once: as a program starts, or as a package is imported."""
_STARTING = ("sitecustomize.py", "usercustomize.py")


@dataclass(frozen=True, slots=True)
class Asked:
    """A call.

    Attributes:
        words: those behind `cdc`.
        environment: its variables.
        folder: where it runs.
        files: its standard files, as numbers in the process that has received them; none in the one that sends them.
    """

    words: Sequence[str]
    environment: Mapping[str, str]
    folder: str
    files: Sequence[int] = ()

    def send(self, connection: socket.socket, files: Sequence[int]) -> None:
        """Sends it with its standard files."""
        socket.send_fds(connection, [b"\n"], files)
        told = {"words": [*self.words], "environment": {**self.environment}, "folder": self.folder}
        connection.sendall(json.dumps(told).encode() + b"\n")

    @classmethod
    def received(cls, connection: socket.socket) -> Self:
        """One that was sent.

        Raises:
            OSError, ValueError: who sent it has gone.
        """
        _, files, _, _ = socket.recv_fds(connection, 1, _FILES)
        with connection.makefile("r", encoding="utf-8") as lines:
            return cls(**json.loads(lines.readline()), files=files)

    def is_served(self) -> bool:
        """Whether a fork of this process can do what Python, newly started, would do."""
        return (
            is_started_alike(self.environment)
            and all(self.environment.get(name) == os.environ.get(name) for name in self._looked_at())
            and not any(has_other_copy(folder) or _is_run_at_start(folder) for folder in self._path())
        )

    def become(self) -> None:
        """Takes its place, in a fork."""
        for number, file in enumerate(self.files):
            os.dup2(file, number)
            os.close(file)
        os.chdir(self.folder)
        os.environ.clear()
        os.environ.update(self.environment)
        time.tzset()
        sys.path[:0] = [self.folder, *self._path()]

    def close(self) -> None:
        """Closes its files, where they are of no use any more."""
        for file in self.files:
            os.close(file)

    def _looked_at(self) -> set[str]:
        return {name for name in (*self.environment, *os.environ) if name.startswith(_AT_IMPORT)}

    def _path(self) -> list[str]:
        return list(filter(None, self.environment.get("PYTHONPATH", "").split(os.pathsep)))


def _is_run_at_start(folder: str) -> bool:
    return any(Path(folder, name).exists() for name in _STARTING)
