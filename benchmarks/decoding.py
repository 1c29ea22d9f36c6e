"""Measures the reading of the log and of result rows by themselves: `python -m benchmarks.decoding [--rows 100000]`.

CPU of this process a row, the best of five readings; what the log consists of is received once and kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import click
from pymysqlreplication import BinLogStreamReader
from pymysqlreplication.row_event import WriteRowsEvent
from rich.console import Console
from rich.table import Table as Report

from benchmarks import workload
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions, FilePosition
from cdckit_mysql.binlog.events import LogEvent
from cdckit_mysql.binlog.framing import PacketBuffer, Span
from cdckit_mysql.binlog.integrity import LogIntegrity
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.binlog.place import HeaderScan
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.rows import RowDecoder, open_rows
from cdckit_mysql.table import Table, Tables
from cdckit_mysql.values import ColumnValue, ValueOptions, column_value
from testkit.servers.mysql import MySQLServer

READINGS = 5
USER = "dbz"

Reading = Callable[[], int]
"""Does what is measured and gives how many rows or events it was."""


@click.command()
@click.option("--rows", default=100_000, help="How many rows.")
def main(rows: int) -> None:
    """Measures decoding by itself."""
    report = Report("what", "count", "µs each", title="Decoding")
    with MySQLServer().start(binlog_rows_query_log_events=False) as server:
        server.create_user(USER, USER)
        start = position(server)
        workload.create(server)
        workload.write(server, workload.inserts(0, rows))
        first, many = start, receive(server, start)
        start = position(server)
        workload.write(server, workload.inserts(rows, rows // 10, per_statement=1))
        single = receive(server, start)
        values = [column_value(column, ValueOptions(), table_of(server).id) for column in table_of(server).columns]
        for name, read in (
            ("rows of 100-row events to tuples", lambda: _decode(many, values)),
            ("the same by mysql-replication, received anew", lambda: _decode_by_library(server, first, rows)),
            ("rows of single-row transactions to tuples", lambda: _decode(single, values)),
            ("events of single-row transactions parsed", lambda: _parse(single)),
            ("events of single-row transactions scanned by header", lambda: _scan(single)),
            ("events of single-row transactions looked at for damage", lambda: _look(single, start.position)),
            ("packets framed", lambda: _frame(single)),
            ("snapshot rows to tuples", lambda: snapshot(server, values)),
        ):
            count, best = best_of(read)
            report.add_row(name, f"{count:,}", f"{best:.2f}")
    Console(width=100).print(report)


def best_of(read: Reading) -> tuple[int, float]:
    """How many there were, and the best reading in microseconds each."""
    found = []
    for _ in range(READINGS):
        start = time.process_time()
        count = read()
        found.append((time.process_time() - start) / count * 1e6)
    return count, min(found)


def position(server: MySQLServer) -> FilePosition:
    """Where the log ends now."""
    file, position, *_ = server.execute("SHOW BINARY LOG STATUS")[0]
    return FilePosition(file, position)


def table_of(server: MySQLServer) -> Table:
    """The definition of the measured table."""
    tables = Tables()
    reader = DdlReader(Flavor.MYSQL)
    reader.apply(tables, "", f"CREATE DATABASE {workload.DATABASE}")
    statement = server.execute(f"SHOW CREATE TABLE {workload.DATABASE}.t")[0][1]
    reader.apply(tables, workload.DATABASE, statement)
    return tables[workload.DATABASE, "t"]


def receive(server: MySQLServer, start: FilePosition) -> list[Span]:
    """The events from `start` to the log's end."""

    def connect() -> Any:
        return server.connect(USER, USER)

    spans: list[Span] = []
    with BinlogConnection.open(connect, start, DumpOptions(server_id=4711, follow=False)) as connection:
        while not connection.ended:
            spans += connection.packets(1.0)
    return spans


def events_in(spans: list[Span]) -> Iterator[LogEvent]:
    """The events that packets hold."""
    return EventParser(checksums=True).events(spans)


def _parse(spans: list[Span]) -> int:
    return sum(1 for _ in events_in(spans))


def _decode(spans: list[Span], values: list[ColumnValue]) -> int:
    decoder: RowDecoder | None = None
    rows = 0
    for event in events_in(spans):
        if isinstance(event, RowsEvent):
            decoder = decoder or RowDecoder(event.table, values)
            rows += len(decoder.write_rows(event))
    return rows


def _decode_by_library(server: MySQLServer, start: FilePosition, rows: int) -> int:
    """Decodes the first tenth of `rows` rows; it takes its time."""
    login = {"host": "127.0.0.1", "port": server.port, "user": USER, "password": USER, "ssl_disabled": True}
    place = {"log_file": start.file, "log_pos": start.position, "resume_stream": True, "enable_logging": False}
    stream = BinLogStreamReader(login, 4712, only_events=[WriteRowsEvent], **place)
    read = 0
    while read < rows // 10:
        read += len(stream.fetchone().rows)
    stream.close()
    return read


def _scan(spans: list[Span]) -> int:
    scan = HeaderScan().scan
    for buffer, start, _ in spans:
        scan(buffer, start)
    return len(spans)


def _look(spans: list[Span], position: int) -> int:
    whole, fault = LogIntegrity("", position, checksums=True).whole(spans)
    assert fault is None, fault
    return len(whole)


def _frame(spans: list[Span]) -> int:
    stream = b"".join(
        (end - start + 1).to_bytes(3, "little") + b"\0\0" + buffer[start:end] for buffer, start, end in spans
    )
    packets = PacketBuffer()
    return sum(len(packets.feed(stream[at : at + (1 << 17)])) for at in range(0, len(stream), 1 << 17))


def snapshot(server: MySQLServer, values: list[ColumnValue]) -> int:
    """Reads the table as a snapshot does; gives the number of its rows."""
    connection = server.connect(USER, USER, ssl_disabled=True)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
        with open_rows(connection, f"SELECT {workload.COLUMNS} FROM {workload.DATABASE}.t", values) as chunks:
            return sum(map(len, chunks))
    finally:
        connection.close()


if __name__ == "__main__":
    main()
