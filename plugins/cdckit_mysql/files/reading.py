"""The events of one log file, as spans of its bytes.

MySQL source documentation, "Binlog file": four bytes of magic number, then events, of which the first describes the
format. Encrypted files: MySQL reference manual, "Encrypting Binary Log Files"; MariaDB knowledge base,
"START_ENCRYPTION_EVENT".
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from cdckit import DecodeError, SourceError
from cdckit_mysql.binlog import event_types
from cdckit_mysql.binlog.event_types import LOG_EVENT_ARTIFICIAL_F, LOG_EVENT_BINLOG_IN_USE_F
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.integrity import CHECKSUM_SIZE, CRC32, LogIntegrity
from cdckit_mysql.binlog.place import HEADER, HEADER_SIZE
from cdckit_mysql.files.storage import LogFile

FIRST_EVENT = 4
"""Where the first event stands, behind the magic number."""

_MAGIC = b"\xfebin"
_ENCRYPTED = b"\xfdbin"
_HEAD, _CHUNK, _PIECE = 1 << 12, 1 << 20, 1 << 24
_SIZE = struct.Struct("<I")
_TYPE_AT = 4
"""Where an event's header holds its type …"""
_SIZE_AT = 9
"""… its size …"""
_FLAGS_AT = 17
"""… and its flags."""


class LogFileReader:
    """Reads one file from its begin on, or from where `seek` says.

    Attributes:
        position: behind the events that have been read.
        in_use: whether the server had it open when it was copied, or died without closing it.
        checksums: whether its events end in checksums.
        description: the FORMAT_DESCRIPTION event.

    Raises:
        SourceError: it cannot be opened, is no log file, or is encrypted.
    """

    def __init__(self, file: LogFile) -> None:
        self.file = file
        self._stream = file.open()
        self.checksums = self.in_use = False
        self._chunk = _HEAD  # each part of a range that is read by itself looks at the first event
        try:
            self._require_plain(self._read(FIRST_EVENT))
            self.seek(FIRST_EVENT)
            description, second = self._first_events()
            if second == event_types.MARIADB_START_ENCRYPTION:
                raise self._encrypted("encrypt_binlog")
        except BaseException:
            self.close()
            raise
        self.description = description
        self.checksums = description[-CHECKSUM_SIZE - 1] == CRC32
        self.seek(FIRST_EVENT)
        self._chunk = _CHUNK

    def seek(self, position: int) -> None:
        """Goes on at an event's position."""
        self._stream.seek(position)
        self.position, self._rest = position, b""
        self._integrity = LogIntegrity(self.file.name, position, checksums=self.checksums, in_file=True)
        self._fault: DecodeError | None = None

    def spans(self) -> Sequence[Span]:
        """The next events; none at the end of the file.

        Raises:
            SourceError: the file cannot be read, or is no log file.
            DecodeError: an event's checksum is wrong, or it does not follow the one before.
        """
        if self._fault is not None:
            raise self._fault
        begin = self.position
        spans, self._fault = self._integrity.whole(self._found())
        if self._fault is not None:
            self.position = begin + sum(end - at for _, at, end in spans)
            if not spans:
                raise self._fault
        return spans

    def _found(self) -> list[Span]:
        """What the next bytes of the file hold, be it whole or not."""
        data = self._rest + self._read(self._chunk)
        if self.position == FIRST_EVENT and len(data) > _FLAGS_AT:
            data = self._closed(data)
        spans: list[Span] = []
        at, limit = 0, len(data)
        while at + HEADER_SIZE <= limit:
            (size,) = _SIZE.unpack_from(data, at + _SIZE_AT)
            if size < HEADER_SIZE:
                raise SourceError(f"{self.file.path} is damaged: no event begins at {self.position}")
            if at + size > limit:
                if not spans and (more := self._read_on(max(self._chunk, at + size - limit))):
                    data += more
                    limit = len(data)
                    continue
                break
            spans.append((data, at, at + size))
            at += size
            self.position += size
        self._rest = data[at:]
        return spans

    def _closed(self, data: bytes) -> bytes:
        """The begin of the file as a server leaves it that closes it: the checksum there is made without the flag."""
        flags = data[_FLAGS_AT]
        self.in_use = bool(flags & LOG_EVENT_BINLOG_IN_USE_F)
        plain = bytes([flags & ~LOG_EVENT_BINLOG_IN_USE_F])
        return data[:_FLAGS_AT] + plain + data[_FLAGS_AT + 1 :]

    @property
    def cut_short(self) -> bool:
        """Whether the file ends within an event; known when `spans` has given none."""
        return bool(self._rest)

    def rotation(self, position: int, *, checksum: bool) -> Span:
        """The event by which a server says that what follows stands in this file, at a position."""
        body = struct.pack("<Q", position) + self.file.name.encode()
        size = HEADER_SIZE + len(body) + CHECKSUM_SIZE * checksum
        event = HEADER.pack(0, event_types.ROTATE, 0, size, 0, LOG_EVENT_ARTIFICIAL_F) + body
        if checksum:
            event += _SIZE.pack(zlib.crc32(event))
        return event, 0, len(event)

    def close(self) -> None:
        """Lets the file go."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except OSError as error:
            raise SourceError(f"{self.file.path} cannot be read behind {self.position}: {error}") from error

    def _read_on(self, size: int) -> bytes:
        """So many bytes, or as many as there are: no room is made for those that are not."""
        pieces, left = [], size
        while left and (piece := self._read(min(left, _PIECE))):
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    def _require_plain(self, magic: bytes) -> None:
        if magic == _ENCRYPTED:
            raise self._encrypted("binlog_encryption")
        if not magic:
            raise SourceError(f"{self.file.path} is empty: the copy is not complete")
        if magic != _MAGIC:
            raise SourceError(f"{self.file.path} is no binary log: it begins with {magic!r} instead of {_MAGIC!r}")

    def _first_events(self) -> tuple[bytes, int]:
        """The event that describes the format, and the type of the one behind it, 0 for none."""
        spans = self.spans()
        if not spans or spans[0][0][spans[0][1] + _TYPE_AT] != event_types.FORMAT_DESCRIPTION:
            raise SourceError(f"{self.file.path} does not begin with a format description: the copy is not complete")
        data, at, end = spans[0]
        return data[at:end], data[end + _TYPE_AT] if end + _TYPE_AT < len(data) else 0

    def _encrypted(self, variable: str) -> SourceError:
        return SourceError(
            f"{self.file.path} is encrypted ({variable}), and only its server has the key: read it from the server, or "
            "archive what `mysqlbinlog --read-from-remote-server --raw` gives, which is plain"
        )
