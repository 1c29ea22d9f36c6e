"""The connection that a server sends its log on.

PyMySQL opens it and logs in; from the dump command on, its socket is read here. MySQL source documentation,
"Replication Protocol"; MariaDB knowledge base, "Replica Registration" and "COM_BINLOG_DUMP".
"""

from __future__ import annotations

import ssl
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

import pymysql
from pymysql.connections import Connection

from cdckit import CdcError, DecodeError, RetriableSourceError, SourceError
from cdckit.waiting import ended_by_stop
from cdckit_mysql.binlog.errors import server_error
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.framing import PacketBuffer, Span
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet
from cdckit_mysql.binlog.integrity import LogIntegrity
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.server.driver import send_command, socket_of

RECEIVE_BYTES = 1 << 17

_COM_BINLOG_DUMP = 0x12
_COM_BINLOG_DUMP_GTID = 0x1E
_DUMP_NON_BLOCK = 0x01
_DUMP_ANNOTATE_ROWS = 0x02
_DUMP_THROUGH_GTID = 0x04
_FIRST_POSITION = 4
FAR = 1 << 32
"""A place that COM_BINLOG_DUMP has no room for."""
_MARIADB_CAPABILITY = 4
"""The highest: GTID events are sent as they are, not replaced for old replicas."""
_ERROR = 0xFF
"""What begins an error packet; an event's packet begins with 0, the one at the log's end with 0xFE."""
_NET_WRITE_TIMEOUT = 3600
"""How many seconds the server waits for a slow reader before it hangs up."""
_SILENT_HEARTBEATS = 3
"""After so many heartbeats that did not come the connection is taken for dead."""


class FilePosition(NamedTuple):
    """A place in the log: a file's name and a position in it."""

    file: str
    position: int

    def __str__(self) -> str:
        return f"{self.file}:{self.position}"


DumpStart = FilePosition | GtidSet | MariaDbGtidSet
"""Where to begin: at a place, or at the first transaction that is not in a set."""


@dataclass(frozen=True, slots=True)
class DumpOptions:
    """How the log is asked for.

    Attributes:
        server_id: the number that this reader pretends to be a replica with; unique among the server's replicas.
        flavor: which server it is.
        heartbeat_seconds: the server says that it is alive after so long without an event.
        follow: stay when the log's end is reached; else `ended` becomes true.
    """

    server_id: int
    flavor: Literal["mysql", "mariadb"] = "mysql"
    heartbeat_seconds: float = 10.0
    follow: bool = True


class BinlogConnection:
    """A server's log from a place on. Use `open`.

    Attributes:
        parser: knows file and position of the last event.
        ended: the log's end was reached (only where `follow` is false).
    """

    def __init__(self, connection: Connection[Any], start: DumpStart, options: DumpOptions) -> None:
        self._connection = connection
        self._start = start
        self._options = options
        self._packets = PacketBuffer(lead=1, events=True)
        self._heard = time.monotonic()
        self.ended = False
        self._failure: CdcError | None = None
        checksums = self._negotiate()
        file, position = start if isinstance(start, FilePosition) else ("", _FIRST_POSITION)
        self.parser = EventParser(file, position, checksums=checksums)
        by_gtid = not isinstance(start, FilePosition)
        self._integrity = LogIntegrity(file, position, checksums=checksums, leaves_out=by_gtid)
        send_command(connection, *self._dump_command())
        self._socket = socket_of(connection)

    @classmethod
    def open(cls, connect: Callable[[], Connection[Any]], start: DumpStart, options: DumpOptions) -> Self:
        """Connect, log in and ask for the log from `start`.

        The server answers an impossible start only when it is read from.

        Args:
            connect: opens a connection of PyMySQL with all its options (TLS, timeouts); it is closed with this one.
            start: where to begin.
            options: how to ask.

        Raises:
            SourceError: the server refuses.
            RetriableSourceError: the connection was lost.
        """
        connection = connect()
        try:
            return cls(connection, start, options)
        except (pymysql.MySQLError, OSError) as error:
            connection.close()
            raise _refused(error, f"the binary log from {start}") from error

    def read(self, timeout: float) -> Iterator[LogEvent]:
        """The events that have arrived; waits for the first up to `timeout` seconds.

        Those inside a compressed transaction come out one by one, as they are decompressed.

        Raises:
            DecodeError: an event cannot be understood.
            SourceError: as `packets`.
        """
        return self.parser.events(self.packets(timeout))

    def packets(self, timeout: float) -> Sequence[Span]:
        """The bytes of the events that have arrived; waits for the first up to `timeout` seconds.

        Raises:
            PositionLostError: the server does not have the log at the place asked for.
            DecodeError: an event's checksum is wrong, or it does not follow the one before.
            SourceError: the server ended the log with another error.
            RetriableSourceError: the connection was lost, or is silent for three heartbeats.
        """
        if self._failure is not None:
            raise self._failure
        if self.ended:
            return []  # the server has hung up behind the end
        deadline = time.monotonic() + timeout
        while True:
            data = self._receive(max(deadline - time.monotonic(), 0.0))
            if data is None:
                self._check_silence()
                return []
            spans = self._cut(data)
            # An error's packet comes behind events of the same read. These are given out first: what was committed
            # before the fault is delivered, and the offset moves up to it.
            if spans and _is_no_event(*spans[-1]):
                self._end(*spans.pop())
            whole, fault = self._integrity.whole(spans)
            if fault is not None:
                self._failure, self.ended = fault, False
            if whole or self.ended:
                return whole
            if self._failure is not None:
                raise self._failure

    def close(self) -> None:
        """Let the connection go. May be called twice."""
        if self._connection.open:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _negotiate(self) -> bool:
        """Say what this replica understands; give whether the server's events end in checksums."""
        # Heartbeats tell a quiet server from a dead line, which TCP alone does not for hours. The server's write
        # timeout of 60 s would cut the log while a sink takes its time.
        nanoseconds = int(self._options.heartbeat_seconds * 1_000_000_000)
        settings = [f"@master_heartbeat_period = {nanoseconds}", f"net_write_timeout = {_NET_WRITE_TIMEOUT}"]
        if self._options.flavor == "mariadb":
            settings.append(f"@mariadb_slave_capability = {_MARIADB_CAPABILITY}")
            if isinstance(self._start, MariaDbGtidSet):
                # Strict: a place that is not in the log is an error; else the server would go on at whatever comes
                # next.
                settings += [f"@slave_connect_state = '{self._start}'", "@slave_gtid_strict_mode = 1"]
        with self._connection.cursor() as cursor:
            cursor.execute("SELECT @@global.binlog_checksum")
            (checksum,) = cursor.fetchone() or ("NONE",)
            # A replica that says nothing of checksums is refused where events have them. One that says NONE has the
            # server take them off, and damage on its disk would not show: so its own setting is told back.
            cursor.execute(f"SET @master_binlog_checksum = '{checksum}', {', '.join(settings)}")
        return str(checksum).upper() != "NONE"

    def _dump_command(self) -> tuple[int, bytes]:
        flags = 0 if self._options.follow else _DUMP_NON_BLOCK
        if isinstance(self._start, GtidSet):
            known = self._start.to_wire()
            flags |= _DUMP_THROUGH_GTID
            fixed = struct.pack("<HIIQI", flags, self._options.server_id, 0, _FIRST_POSITION, len(known))
            return _COM_BINLOG_DUMP_GTID, fixed + known
        if self._options.flavor == "mariadb":
            flags |= _DUMP_ANNOTATE_ROWS
        file, position = self._start if isinstance(self._start, FilePosition) else ("", _FIRST_POSITION)
        if position >= FAR and self._options.flavor == "mysql":
            # By this command a server with GTIDs goes by the file that is named, and looks into the set only to leave
            # out what is in it.
            name, nothing = file.encode(), GtidSet().to_wire()
            fixed = struct.pack("<HII", flags | _DUMP_THROUGH_GTID, self._options.server_id, len(name))
            return _COM_BINLOG_DUMP_GTID, fixed + name + struct.pack("<QI", position, len(nothing)) + nothing
        return _COM_BINLOG_DUMP, struct.pack("<IHI", position, flags, self._options.server_id) + file.encode()

    def _receive(self, timeout: float) -> bytes | None:
        """The next bytes, or None when none came in time."""
        try:
            self._socket.settimeout(timeout)
            with ended_by_stop():
                data: bytes = self._socket.recv(RECEIVE_BYTES)
        except (TimeoutError, BlockingIOError, ssl.SSLWantReadError):
            return None
        except OSError as error:
            raise self._lost(str(error)) from error
        if not data:
            raise self._lost("the server closed the connection")
        self._heard = time.monotonic()
        return data

    def _cut(self, data: bytes) -> list[Span]:
        try:
            return self._packets.feed(data)
        except DecodeError as error:
            raise self._broken(str(error)) from None

    def _end(self, buffer: bytes, start: int, end: int) -> None:
        """Take the packet that is no event; it is always the last. An error is kept until the events are read."""
        if end < start:
            self._failure = self._broken("an empty packet came")
        elif buffer[start - 1] == _ERROR:
            # Behind the code stand '#' and five letters of SQL state.
            message = buffer[start + 8 : end].decode("utf-8", "replace")
            what = f"the binary log from {self._start}, read up to {self._place()}"
            code = buffer[start] | buffer[start + 1] << 8
            self._failure = server_error(code, message, what, self._connection.user)
        elif self._options.follow:
            # A server that goes down says goodbye by an end of the log, also to those who asked to stay.
            self._failure = self._lost("the server ended the log, as it does when it shuts down")
        else:
            self.ended = True

    def _check_silence(self) -> None:
        silent = time.monotonic() - self._heard
        if silent > _SILENT_HEARTBEATS * self._options.heartbeat_seconds:
            raise self._lost(f"not even a heartbeat for {silent:.0f} s")

    def _lost(self, reason: str) -> RetriableSourceError:
        return RetriableSourceError(
            f"the connection that the binary log is read on was lost at {self._place()}: {reason}"
        )

    def _broken(self, reason: str) -> DecodeError:
        return DecodeError(f"the binary log, read up to {self._place()}: {reason}")

    def _place(self) -> FilePosition:
        return FilePosition(self.parser.file, self.parser.position)


def _is_no_event(buffer: bytes, start: int, end: int) -> bool:
    return end < start or bool(buffer[start - 1])


def _refused(error: Exception, what: str) -> SourceError:
    if isinstance(error, pymysql.MySQLError) and error.args and isinstance(error.args[0], int):
        return server_error(error.args[0], str(error.args[-1]), what)
    return RetriableSourceError(f"{what}: {error}")
