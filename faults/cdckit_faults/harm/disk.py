"""Disks that are full: a small file system of the pipeline's own, or a limit on the size of its files."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

_ROOMY = "2g"
"""The size of a file system that is not full; it takes memory only for what it holds."""

_TRIES = 100

_NAMED = "cdckit-faults-"
"""A file system is named by the process that has made it."""


class Disk(ABC):
    """The disk of a pipeline's data.

    Attributes:
        how: what makes it full, for the table.
        folder: where it is.
    """

    how: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def fill(self, room: int, pid: int) -> None:
        """Leaves room for so many bytes, for the process at least."""

    @abstractmethod
    def empty(self) -> None:
        """Makes room; a process that begins from now on has it."""


class SmallFileSystem(Disk):
    """A tmpfs, whose size is what stands in it."""

    how: ClassVar[str] = "tmpfs without room (ENOSPC)"

    def fill(self, room: int, pid: int) -> None:
        """Shrinks it; once more where it has grown meanwhile, as it cannot be smaller than what stands in it."""
        for _ in range(_TRIES):
            found = os.statvfs(self.folder)
            size = (found.f_blocks - found.f_bfree) * found.f_frsize + room
            if _mount("-o", f"remount,size={size}", self.folder):
                return
        raise OSError(f"{self.folder} grew {_TRIES} times while it was to be made smaller")

    def empty(self) -> None:
        """Makes it as large as it was."""
        _mount("-o", f"remount,size={_ROOMY}", self.folder)


class LimitedFiles(Disk):
    """Files that may not grow: RLIMIT_FSIZE, where nothing may be mounted."""

    how: ClassVar[str] = "RLIMIT_FSIZE (EFBIG): nothing may be mounted here"

    def fill(self, room: int, pid: int) -> None:
        """The largest of its files may grow so far, and no other further."""
        largest = max((path.stat().st_size for path in self.folder.rglob("*") if path.is_file()), default=0)
        _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest + room, hard))

    def empty(self) -> None:
        """The limit goes with its process."""


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    """A disk in a new folder; a file system of its own where this user may mount one."""
    folder.mkdir(parents=True)
    _sweep()
    if not _mount("-t", "tmpfs", "-o", f"size={_ROOMY}", f"{_NAMED}{os.getpid()}", folder):
        yield LimitedFiles(folder)
        return
    try:
        yield SmallFileSystem(folder)
    finally:
        _unmount(folder)


def _sweep() -> None:
    """Unmounts what processes have left that were killed."""
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        name, folder, *_ = line.split()
        if name.startswith(_NAMED) and not Path("/proc", name.removeprefix(_NAMED)).exists():
            _unmount(Path(folder))


def _unmount(folder: Path) -> None:
    subprocess.run(["umount", "--lazy", folder], check=True)


def _mount(*arguments: str | Path) -> bool:
    if shutil.which("mount") is None or os.geteuid() != 0:
        return False
    return subprocess.run(["mount", *arguments], check=False, capture_output=True).returncode == 0
