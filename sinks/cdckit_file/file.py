"""The sink `file`: appends a JSON line for each record."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import ClassVar

from cdckit import ConfigError, Finding, HeldMessages, Messages, Sink, SinkContext, SinkError, why_unwritable
from cdckit_file.config import FileConfig
from cdckit_file.lines import LineWriter
from cdckit_file.reading import held_lines
from cdckit_file.writing import is_file, write_whole

log = logging.getLogger("cdckit.file")


class FileSink(Sink):
    """Appends whole lines; a line that a crash left torn is cut off at the next start.

    A file that was renamed or removed, as programs do that rotate logs, is made anew before the next lines.
    """

    keeps_all: ClassVar[bool] = True

    def __init__(self, config: FileConfig) -> None:
        self.path: Path = config.path
        self._file = -1
        self._size = 0
        self._unsaved = False

    @classmethod
    def check(cls, config: FileConfig) -> Sequence[Finding]:
        """Looks whether the file can be appended to, or made."""
        path, there = config.path, os.path.lexists(config.path)
        problem = _why_unwritable(path) if there else why_unwritable(path.parent)
        if problem is not None:
            return [
                Finding(
                    "path", "fail", problem, "name a file in a folder that exists and can be written", number="CDC1409"
                )
            ]
        return [Finding("path", "ok", f"{path} {'is appended to' if there else 'is made'}")]

    def open(self, context: SinkContext) -> None:
        """Opens the file for appending and cuts off a torn last line."""
        self._lines = LineWriter(context.key_form, context.value_form, context.header_form)
        self._stopping = context.stopping
        self._open()

    def write(self, messages: Messages) -> None:
        """Hands the lines to the operating system at once, so that a reader sees them.

        Raises:
            SinkError: they were not all taken, no part of a line is left; or lines that are not saved were removed.
        """
        lines = self._lines.lines(messages)
        if self._regular:
            self._follow_path()
        self._unsaved = True
        try:
            write_whole(self._file, lines, self._stopping)
            self._size = os.fstat(self._file).st_size
        except OSError as error:
            raise self._error(error, "make room, then start again: nothing is lost") from error

    def flush(self) -> None:
        """Returns once the lines are on the disk; pipes and devices have none.

        Raises:
            SinkError: they may not be there, or were removed before they were.
        """
        try:
            if self._regular:
                os.fsync(self._file)
                self._require_kept()
        except OSError as error:
            raise self._error(error, "what was written may not be on the disk; start again to repeat it") from error
        self._unsaved = False

    def read_back(self, context: SinkContext, topics: Collection[str]) -> HeldMessages:
        """The lines of the file; those that were renamed away are not seen.

        Raises:
            ConfigError: it is a pipe or a device, which keeps nothing.
        """
        if self.path.exists() and not self.path.is_file():
            raise ConfigError(
                f"sink.path: what a pipe or device was given cannot be read back, and so not be compared ({self.path})"
            )
        return HeldMessages(held_lines(self.path, topics))

    def close(self) -> None:
        """Closes the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _open(self) -> None:
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._regular = is_file(self._file)
            if self._regular:
                _cut_torn_line(self._file)
                self._size = os.fstat(self._file).st_size
                _sync_folder(self.path.parent)
        except OSError as error:
            raise self._error(error, "name a file in a folder that exists and can be written") from error

    def _follow_path(self) -> None:
        """Goes on with the file that the path leads to now."""
        try:
            same = os.path.samestat(os.fstat(self._file), self.path.stat())
        except FileNotFoundError:
            same = False
        except OSError as error:
            raise self._error(error, "name a file in a folder that exists and can be written") from error
        if not same:
            removed = os.fstat(self._file).st_nlink == 0
            self.flush()
            what = "removed" if removed else "renamed"
            log.warning("sink.path %s was %s: going on in a new file of that name", self.path, what)
        elif os.fstat(self._file).st_size < self._size:
            self._require_kept()
            log.warning(
                "sink.path %s was cut: going on behind what is left. Lines that came between a copy and the cut are "
                "in neither: rename the file rather than cut it (logrotate: 'create' instead of 'copytruncate')",
                self.path,
            )
        else:
            return
        self.close()
        self._open()

    def _require_kept(self) -> None:
        """Fails where lines went that no offset tells of yet: they are delivered again at the next start."""
        found = os.fstat(self._file)
        if self._unsaved and (found.st_nlink == 0 or found.st_size < self._size):
            what = "removed" if found.st_nlink == 0 else "cut"
            raise SinkError(
                f"sink.path {self.path} was {what}, with lines that are not saved yet: start again, which writes "
                "them anew; to rotate the file, rename it",
                number="CDC4301",
            )

    def _error(self, error: OSError, advice: str) -> SinkError:
        return SinkError(f"sink.path {self.path}: {error.strerror}; {advice}", number="CDC4301")


def _why_unwritable(file: Path) -> str | None:
    if file.is_dir():
        return f"{file} is a folder"
    return None if os.access(file, os.R_OK | os.W_OK) else f"this user may not read and write {file}"


def _sync_folder(folder: Path) -> None:
    """Makes a new file's name as durable as its lines."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _cut_torn_line(file: int) -> None:
    size, whole = os.fstat(file).st_size, _end_of_last_line(file)
    if whole < size:
        os.ftruncate(file, whole)


def _end_of_last_line(file: int, block: int = 65536) -> int:
    """The length of the file up to and with its last newline."""
    end = os.fstat(file).st_size
    while end > 0:
        start = max(0, end - block)
        found = os.pread(file, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
