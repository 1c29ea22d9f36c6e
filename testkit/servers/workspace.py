"""Temporary folders of this process, and the removal of those whose process is gone."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_LOCK = "lock"
_SOCKET_PATH_LIMIT = 107
"""Longest path of a Unix socket, in bytes (unix(7), sun_path)."""


def new_folder(purpose: str) -> Path:
    """Make a folder that is removed when this process ends, or by the next run if it is killed."""
    folder = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=_process_folder()))
    folder.chmod(0o755)
    return folder


def socket_path(folder: Path) -> Path:
    """Return the path for a Unix socket in ``folder``, which must be short enough for the kernel."""
    path = folder / "s.sock"
    if len(os.fsencode(path)) > _SOCKET_PATH_LIMIT:
        raise ValueError(f"{path} is too long for a Unix socket: set TMPDIR to a shorter path")
    return path


@cache
def _process_folder() -> Path:
    """Make the folder of this process; its lock file stays locked for as long as the process lives."""
    root = Path(tempfile.gettempdir()) / f"cdckit-{os.getuid()}"
    root.mkdir(mode=0o700, exist_ok=True)
    with _locked(root / _LOCK):
        _sweep(root)
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=root))
        handle = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR)
        fcntl.flock(handle, fcntl.LOCK_EX)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, owner: int) -> None:
    """Remove ``folder`` at exit, though not at the exit of a process forked from its owner."""
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def _sweep(root: Path) -> None:
    """Remove the folders of processes that died without doing so."""
    for folder in root.iterdir():
        if folder.is_dir() and _is_abandoned(folder):
            shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("r+") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        pass
    return True


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
