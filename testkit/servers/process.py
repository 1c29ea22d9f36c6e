"""Child processes that never outlive the process which started them."""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import subprocess
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from testkit.servers.errors import ServerUnavailableError

_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal which the kernel sends to a child when its parent thread ends."""

_TAIL = 3000
_libc = ctypes.CDLL(None, use_errno=True)
_children: weakref.WeakSet[subprocess.Popen[bytes]] = weakref.WeakSet()


def spawn(
    command: Sequence[str | Path],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    kept: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """Start ``command`` with its output in ``log``; it is killed when the calling thread or process ends.

    ``kept`` are the descriptors that it inherits.
    """
    with log.open("ab") as output:
        child = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            start_new_session=True,
            pass_fds=kept,
            preexec_fn=bound_to_parent(),  # noqa: PLW1509  (it makes system calls only)
        )
    _kill_children_at_exit()
    _children.add(child)
    return child


def with_root() -> dict[str, str]:
    """The environment of a program of this package."""
    root = str(Path(__file__).parents[2])
    return {"PYTHONPATH": os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))}


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    interruptible: bool = True,
) -> str:
    """Run an installation's step to its end and return what it printed.

    Args:
        command: program and arguments.
        env: environment variables to add.
        cwd: folder to run in.
        interruptible: whether it is killed when this process is; a package manager had better not be.

    Raises:
        ServerUnavailableError: it failed; the message holds the end of what it printed.
    """
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        preexec_fn=bound_to_parent() if interruptible else None,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        said = done.stdout[-_TAIL:]
        raise ServerUnavailableError(f"`{' '.join(words)}` ended with {done.returncode}:\n{said}")
    return done.stdout


def end(child: subprocess.Popen[bytes], *, grace: float) -> None:
    """Ask ``child`` to end and kill it after ``grace`` seconds."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            child.kill()
    child.wait()


def worked(pid: int) -> int:
    """Return the processor time that a process has had, in clock ticks (proc(5)); 0: it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    return sum(map(int, text.rpartition(")")[2].split()[11:13]))


_STILL = {"T", "Z", "X"}
"""What stands still, or has ended before it could be halted, and waits for its parent to see that."""


def halt(pid: int, *, seconds: float = 30) -> None:
    """Halts a process by SIGSTOP, and returns once each of its threads stands still: the kernel halts them as they run.

    Raises:
        TimeoutError: one still goes on.
    """
    os.kill(pid, signal.SIGSTOP)
    end = time.monotonic() + seconds
    while {*_states(pid)} - _STILL:
        if time.monotonic() > end:
            raise TimeoutError(f"process {pid} goes on after SIGSTOP")
        time.sleep(0.005)


def _states(pid: int) -> Iterator[str]:
    """Of each thread, where the system tells them (proc(5): behind the name in parentheses)."""
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):
            yield thread.read_text().rpartition(")")[2].split()[0]


def tail(log: Path, size: int = _TAIL) -> str:
    """Return the last ``size`` characters of a log for an error message."""
    return log.read_text(errors="replace")[-size:] if log.exists() else "(no log)"


def bound_to_parent() -> Callable[[], None]:
    """What a child of this process is to call first, so that the kernel kills it when its parent thread ends."""
    parent = os.getpid()

    def bind() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return bind


@cache
def _kill_children_at_exit() -> None:
    """Arrange for it once, on the first child: last registered runs first, so before folders are removed."""
    atexit.register(_kill_children, os.getpid())


def _kill_children(owner: int) -> None:
    """Kill what still runs, though not at the exit of a process forked from the children's owner."""
    for child in list(_children) if os.getpid() == owner else []:
        if child.poll() is None:
            child.kill()
            child.wait()
