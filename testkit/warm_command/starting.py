"""Starts the warm process of this test process, and calls of the command."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from testkit.servers.process import bound_to_parent, spawn
from testkit.servers.workspace import new_folder, socket_path
from testkit.warm_command.asked import Asked
from testkit.warm_command.process import Forked, Process
from testkit.warm_python.caller import REFUSED
from testkit.warm_python.starting import ONE_THREAD


@dataclass(slots=True)
class Warmth:
    """Whether calls may be forks, in this process."""

    wanted: bool = False


WARMTH = Warmth()


@contextmanager
def forked_calls(*, wanted: bool) -> Iterator[None]:
    """Has calls be forks meanwhile, or Python of their own."""
    before, WARMTH.wanted = WARMTH.wanted, wanted
    try:
        yield
    finally:
        WARMTH.wanted = before


def start_command(
    words: Sequence[str],
    out: IO[bytes],
    errors: IO[bytes],
    *,
    folder: Path,
    environment: Mapping[str, str],
    limit: Callable[[], None] | None = None,
) -> Process:
    """Starts `cdc`, with nothing on its standard input.

    Args:
        words: those behind `cdc`.
        out: a file for its standard output.
        errors: one for its standard error.
        folder: where it runs.
        environment: all of its variables.
        limit: called in the new process before the command, which is a Python of its own then.
    """
    if WARMTH.wanted and limit is None:
        with Path(os.devnull).open("rb") as nothing:
            files = [file.fileno() for file in (nothing, out, errors)]
            if forked := _forked(Asked(words, environment, str(folder)), files):
                return forked
    return subprocess.Popen(
        [sys.executable, "-m", "cdckit", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=errors,
        env=environment,
        preexec_fn=_first(limit),  # noqa: PLW1509 - it makes system calls only
    )


def call_command(
    words: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Calls `cdc` and waits for its end.

    Args:
        words: those behind `cdc`.
        folder: where it runs; None: here.
        environment: all of its variables; None: those of this process.
        seconds: how long it may run.

    Raises:
        subprocess.TimeoutExpired: it ran on, and was killed.
    """
    folder, environment = folder or Path.cwd(), os.environ if environment is None else environment
    with TemporaryFile() as out, TemporaryFile() as errors:
        process = start_command(words, out, errors, folder=folder, environment=environment)
        try:
            code = process.wait(seconds)
        finally:
            process.kill()
            process.wait()
        return subprocess.CompletedProcess(["cdc", *words], code, _text(out), _text(errors))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _first(limit: Callable[[], None] | None) -> Callable[[], None]:
    bind = bound_to_parent()

    def begin() -> None:
        bind()
        if limit is not None:
            limit()

    return begin


def _forked(asked: Asked, files: Sequence[int]) -> Forked | None:
    """A fork for a call; None where Python itself has to be it."""
    if threading.current_thread() is not threading.main_thread():
        return None  # the warm process would end with the thread that has started it
    with ExitStack() as stack:  # whoever is broken off here must not have the warm process wait for him
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.connect(str(_warm()))
        asked.send(connection, files)
        said = stack.enter_context(connection.makefile("r"))
        answer = said.readline().strip()
        if answer in ("", REFUSED):
            return None
        return Forked(int(answer), said, stack.pop_all())


@cache
def _warm() -> Path:
    """Where the warm process listens, which the first call starts, and which ends with this one."""
    folder = new_folder("warm-command")
    path = socket_path(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(128)
        variables = {"PYTHONPATH": "", **ONE_THREAD}
        command = [sys.executable, "-P", "-m", "testkit.warm_command", str(listener.fileno())]
        spawn(command, folder / "log", env=variables, kept=(listener.fileno(),))
    return path
