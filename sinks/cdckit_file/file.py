"""The sink `file`: appends a JSON line for each record."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from cdckit.errors import SinkError
from cdckit.messages import Messages
from cdckit.sink import Sink, SinkContext
from cdckit_file.config import FileConfig
from cdckit_file.lines import LineWriter


class FileSink(Sink):
    """Appends whole lines; a line that a crash left torn is cut off at the next start."""

    def __init__(self, config: FileConfig) -> None:
        self.path: Path = config.path
        self._file = -1

    def open(self, context: SinkContext) -> None:
        """Opens the file for appending and cuts off a torn last line."""
        self._lines = LineWriter(json_texts=context.json_texts)
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._regular = stat.S_ISREG(os.fstat(self._file).st_mode)
            if self._regular:
                _cut_torn_line(self._file)
                _sync_folder(self.path.parent)
        except OSError as error:
            raise self._error(error, "name a file in a folder that exists and can be written") from error

    def write(self, messages: Messages) -> None:
        """Hands the lines to the operating system at once, so that a reader sees them.

        Raises:
            SinkError: they were not all taken; no part of a line is left.
        """
        rest = memoryview(self._lines.lines(messages))
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            if self._regular:
                with suppress(OSError):  # the next start tries it again
                    _cut_torn_line(self._file)
            raise self._error(error, "make room, then start again: nothing is lost") from error

    def flush(self) -> None:
        """Returns once the lines are on the disk; pipes and devices have none."""
        try:
            if self._regular:
                os.fsync(self._file)
        except OSError as error:
            raise self._error(error, "what was written may not be on the disk; start again to repeat it") from error

    def close(self) -> None:
        """Closes the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _error(self, error: OSError, advice: str) -> SinkError:
        return SinkError(f"sink.path {self.path}: {error.strerror}; {advice}")


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
