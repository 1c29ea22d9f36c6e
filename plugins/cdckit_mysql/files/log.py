"""A log that lies in files: where it begins and ends, and its events from an offset on."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from cdckit import SourceError
from cdckit_mysql.binlog.errors import PositionLostError
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.binlog.place import HEADER
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.files.boundaries import last_boundary
from cdckit_mysql.files.reading import FIRST_EVENT, LogFileReader
from cdckit_mysql.files.storage import LogFile, find_log_files
from cdckit_mysql.offsets import LogOffset, file_number
from cdckit_mysql.options.connection import split_place
from cdckit_mysql.streaming.progress import covers, gtid_set

log = logging.getLogger("cdckit.mysql")


class LogFiles:
    """The files that a configuration names, as they are now.

    Raises:
        SourceError: there are none.
    """

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self.files: Sequence[LogFile] = find_log_files(config.binlog_files)

    def start(self) -> LogOffset:
        """Where a pipeline begins that has no offset yet.

        Raises:
            SourceError: `binlog.files.start` is not among the files, or lies within a transaction.
        """
        name, pos = split_place(self._config.binlog_files_start or self.files[0].name)
        file = self._named("start", name)
        with LogFileReader(file) as reader:
            found = last_boundary(reader, pos or FIRST_EVENT)
        if found.position < (pos or 0):
            raise SourceError(
                f"binlog.files.start={name}:{pos} lies within a transaction or beyond the file's end: "
                f"the place between transactions before it is {name}:{found.position}"
            )
        return LogOffset(file=name, pos=found.position, gtids=found.gtids)

    def end(self, at: LogOffset) -> LogOffset:
        """Where reading ends that has come to `at`: behind the last transaction that is complete.

        Raises:
            SourceError: `binlog.files.stop` is not among the files, or the last file is no complete copy.
        """
        name, pos = split_place(self._config.binlog_files_stop or self.files[-1].name)
        file = self._named("stop", name)
        with LogFileReader(file) as reader:
            found = last_boundary(reader, pos)
            if reader.cut_short and not reader.in_use:
                raise self._incomplete(file, reader.position)
            if pos is None and not found.at_end:
                log.info("%s is still being written: its end is %d", file.path, found.position)
        return at.with_changes(file=name, pos=found.position, gtids=found.gtids, event=0, row=0, counts={})

    def at(self, offset: LogOffset) -> int:
        """The number, from 0, of the file in which reading goes on.

        Raises:
            SourceError: it is not there.
        """
        for number, file in enumerate(self.files):
            if file.number == file_number(offset.file):
                return number
        raise SourceError(
            f"reading goes on at {offset.position}, and {self._config.binlog_files} has no such file (it has "
            f"{self.files[0].name} to {self.files[-1].name}): name that file, too"
        )

    def counts(self, offset: LogOffset) -> bool:
        """Whether an offset's file and position mean these files, as far as their transactions tell.

        Archives of several servers of a topology have files of the same names.
        """
        if offset.by_gtid or offset.gtids is None:
            return not offset.by_gtid
        file = next((file for file in self.files if file.number == file_number(offset.file)), None)
        if file is None:
            return False
        with LogFileReader(file) as reader:
            found = last_boundary(reader, offset.pos)
        if found.gtids is None:
            return True
        mariadb = is_mariadb(found.gtids, offset.gtids)
        there, read = gtid_set(found.gtids, mariadb=mariadb), gtid_set(offset.gtids, mariadb=mariadb)
        between = found.position >= offset.pos or offset.event > 0
        return between and (covers(there, read) or covers(read, there))

    @property
    def server_id(self) -> int:
        """The number of the server that has written the first file."""
        with LogFileReader(self.files[0]) as reader:
            return int(HEADER.unpack_from(reader.description)[2])

    def before(self, gtids: str) -> LogOffset:
        """The begin of the last file before which there is no transaction beyond some that were read.

        Raises:
            PositionLostError: there is none: what follows them is not in the files.
        """
        # From the newest on: the less is read again and passed over, the better.
        for number in range(len(self.files) - 1, -1, -1):
            begin = self._begin(number) or ""
            mariadb = is_mariadb(gtids, begin)
            if covers(gtid_set(gtids, mariadb=mariadb), gtid_set(begin, mariadb=mariadb)):
                return LogOffset(file=self.files[number].name, pos=FIRST_EVENT, gtids=gtids)
        raise PositionLostError(
            f"{self._config.binlog_files} has no such file as the one in which reading goes on, and begins behind "
            f"transactions that were not read yet: {self._begin(0)} come before {self.files[0].name}, and read were "
            f"{gtids}; name earlier files, too"
        )

    def _begin(self, number: int) -> str | None:
        """The transactions before a file; None where the log has no identifiers."""
        with LogFileReader(self.files[number]) as reader:
            return last_boundary(reader, FIRST_EVENT).gtids

    def following(self, number: int) -> LogFile | None:
        """The file behind another one.

        Raises:
            SourceError: there is one, but not with the next number.
        """
        if number + 1 == len(self.files):
            return None
        file, following = self.files[number : number + 2]
        # A server numbers its files without gaps, so a copy that lacks one lacks changes.
        if following.number != file.number + 1:
            raise SourceError(f"between {file.path} and {following.path} a file is missing: changes would be lost")
        return following

    def bytes_between(self, start: LogOffset, end: LogOffset) -> int:
        """How many bytes of the log lie between two offsets."""
        first, last = file_number(start.file), file_number(end.file)
        return sum(file.size() for file in self.files if first <= file.number < last) + end.pos - start.pos

    def _named(self, option: str, name: str) -> LogFile:
        for file in self.files:
            if file.name == name:
                return file
        raise SourceError(
            f"binlog.files.{option}: {name} is not among the files that binlog.files names "
            f"({self.files[0].name} to {self.files[-1].name})"
        )

    @staticmethod
    def _incomplete(file: LogFile, position: int) -> SourceError:
        return SourceError(
            f"{file.path} ends within the event at {position}, though its server had closed it: the copy is not "
            "complete, make it anew"
        )


def is_mariadb(*gtids: str) -> bool:
    """Whose GTIDs sets hold, some of which may be empty: MySQL's begin with a UUID, behind which a colon follows."""
    return not any(":" in text for text in gtids)


class FileLog:
    """The events of the files from an offset on, as a connection to a server gives them.

    Attributes:
        parser: knows file and position of the last event.
        ended: whether the last file's end was reached.
    """

    def __init__(self, files: LogFiles, start: LogOffset) -> None:
        self._files = files
        self._number = files.at(start)
        self._reader = LogFileReader(files.files[self._number])
        # within a transaction an offset stands behind its identifier
        self._first: int | None = last_boundary(self._reader, start.pos).position if start.event else start.pos
        self.parser = EventParser(checksums=self._reader.checksums)
        self.ended = False

    def packets(self, timeout: float) -> Sequence[Span]:
        """The bytes of the next events; none at the log's end. Files make nobody wait.

        Raises:
            SourceError: a file is missing, damaged, or no complete copy.
        """
        if self._first is not None:
            first, self._first = self._first, None
            return self._opening(first)
        while not self.ended:
            spans = self._reader.spans()
            if spans:
                return spans
            following = self._files.following(self._number)
            if following is None:
                self.ended = True
            else:
                self._require_whole()
                self.close()
                self._number, self._reader = self._number + 1, LogFileReader(following)
                return self._opening(FIRST_EVENT)
        return []

    def close(self) -> None:
        """Lets the file go."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _opening(self, first: int) -> list[Span]:
        """What a server sends before the events of a file from a position on."""
        reader = self._reader
        description = reader.description, 0, len(reader.description)
        reader.seek(max(first, FIRST_EVENT + len(reader.description)))
        return [
            # The first rotation is still read with the checksums of the file before; its own description says what
            # holds from there on.
            reader.rotation(FIRST_EVENT, checksum=self.parser.checksums),
            description,
            reader.rotation(reader.position, checksum=reader.checksums),
        ]

    def _require_whole(self) -> None:
        """A file that others follow ends with a whole event, also one that a killed server has left."""
        if self._reader.cut_short:
            raise SourceError(
                f"{self._reader.file.path} ends within the event at {self._reader.position}, and other files follow: "
                "the copy is not complete, make it anew"
            )
