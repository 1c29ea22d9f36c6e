"""Stretches of the log that a planner has read and keeps in files, so that their readers need not ask the server again.

Who cannot find such a file, or not all of it, asks the server: a file saves reading, and nothing hangs on it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import IO
from uuid import uuid4
from zlib import crc32

from cdckit import DecodeError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import CHECKSUM_SIZE, CRC32, WHOLE

log = logging.getLogger("cdckit.mysql")

_SUFFIX = ".events"
_CODE, _SIZE_AT, _HEADER = 4, 9, 19
_SIZE = Struct("<I").unpack_from
_PART = 1 << 20
"""So many bytes of a file are read at a time."""


@dataclass(frozen=True, slots=True)
class SpooledEvents:
    """Events of the log in a file, one behind the other.

    Attributes:
        path: the file's.
        start: where in it the first one begins.
        size: how many bytes they have.
    """

    path: str
    start: int
    size: int

    def open(self) -> IO[bytes] | None:
        """The file where its bytes begin; None where it is not here, or not all of it is."""
        try:
            file = Path(self.path).open("rb")  # noqa: SIM115 - who reads it closes it
        except OSError:
            return None
        if os.fstat(file.fileno()).st_size < self.start + self.size:
            file.close()
            return None
        file.seek(self.start)
        return file


class Spool:
    """A folder of such files, of one planner.

    Args:
        folder: it is made when it is first needed; what an earlier planner has left in it is removed then.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._begun = False

    def file(self) -> SpoolFile | None:
        """A new file; None where there is no room, which is said once."""
        path = self._folder / f"{uuid4().hex}{_SUFFIX}"
        try:
            if not self._begun:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._remove_left()
                self._begun = True
            return SpoolFile(path)
        except OSError as error:
            log.warning("%s: the log cannot be kept here, and is read twice: %s", self._folder, error)
            return None

    def close(self) -> None:
        """Removes what is there."""
        if self._begun:
            self._remove_left()
            with suppress(OSError):
                self._folder.rmdir()

    def _remove_left(self) -> None:
        for path in self._folder.glob(f"*{_SUFFIX}"):
            path.unlink(missing_ok=True)


class SpoolFile:
    """A file that events are written to.

    Args:
        path: the file's; only its owner may read it.

    Attributes:
        path: the same.
        whole: whether all events that were given are in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.whole = True
        self._file: IO[bytes] = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", _PART)

    def write(self, event: bytes | memoryview) -> None:
        """Takes an event; where there is no room for it, all of them are let go of."""
        if not self.whole:
            return
        try:
            self._file.write(event)
        except OSError as error:
            self._give_up(error)

    def finish(self) -> None:
        """Nothing follows: all that was written can be read."""
        try:
            self._file.close()
        except OSError as error:
            self._give_up(error)

    def remove(self) -> None:
        """Takes it away; those that read it go on."""
        self.whole = False
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _give_up(self, error: OSError) -> None:
        log.warning("%s: a part of the log cannot be kept here, and is read twice: %s", self.path.parent, error)
        self.remove()


def spooled_spans(file: IO[bytes], size: int, *, checksums: bool) -> Iterator[list[Span]]:
    """The events that come next in a file, about a megabyte at a time.

    Args:
        file: where it stands.
        size: how many bytes they have.
        checksums: whether they end in a checksum, until a FORMAT_DESCRIPTION tells.

    Raises:
        DecodeError: the file does not hold what was written.
    """
    rest = b""
    while size:
        # As much as the event needs that the last part broke off in: one of a gigabyte is put together once.
        part = file.read(min(size, max(_PART, _missing(rest))))
        if not part:
            raise DecodeError(f"{file.name}: it ends before its time: the file is damaged")
        size -= len(part)
        data = rest + part if rest else part
        spans, checksums = _cut(data, checksums)
        rest = data[spans[-1][2] :] if spans else data
        if spans:
            yield spans
    if rest:
        raise DecodeError(f"{file.name}: an event ends in the middle: the file is damaged")


def _missing(event: bytes) -> int:
    """How much more of an event there is, as its header says."""
    return _SIZE(event, _SIZE_AT)[0] - len(event) if len(event) >= _HEADER else 0


def _cut(data: bytes, checksums: bool) -> tuple[list[Span], bool]:
    """The events that are whole, and whether those behind them end in checksums."""
    spans: list[Span] = []
    view, at, last = memoryview(data), 0, len(data) - _HEADER
    while at <= last:
        size = _SIZE(data, at + _SIZE_AT)[0]
        behind = at + size
        if behind > len(data):
            break
        if size < _HEADER:
            raise DecodeError(f"an event of {size} bytes stands in a file of events that were kept: it is damaged")
        code = data[at + _CODE]
        if code == event_types.FORMAT_DESCRIPTION:
            checksums = data[behind - CHECKSUM_SIZE - 1] == CRC32
        elif checksums and code != event_types.ROTATE and crc32(view[at:behind]) != WHOLE:
            raise DecodeError("the checksum of an event that was kept in a file is wrong: the file is damaged")
        spans.append((data, at, behind))
        at = behind
    return spans, checksums
