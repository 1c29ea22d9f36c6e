"""Plans of log files that were copied from their server."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

import psutil

from mysql.log_files import Files, archived, names
from testkit.servers.mysql import MySQLServer


def test_planning_reads_a_file_once(
    mysql_server: MySQLServer, unique_name: str, afterwards: ExitStack, tmp_path: Path
) -> None:
    """As the Spark runner drives it: a backlog is cut, and each batch is planned."""
    mysql_server.execute("FLUSH BINARY LOGS")
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    rows = "".join("INSERT INTO t (v) VALUES (REPEAT('x', 100000));" for _ in range(200))
    mysql_server.run_sql(
        f"CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT); {rows}", database=unique_name
    )
    mysql_server.execute("FLUSH BINARY LOGS")
    archive = archived(mysql_server, tmp_path / "archive")
    file = archive / names(archive)[-2]
    with closing(Files(mysql_server, tmp_path / "state", file, database_include_list=unique_name)) as reading:
        at = reading.offset()
        end = reading.source.latest_offset(at)
        before, batches = _read_so_far(), 0
        while at != end:
            stop = reading.source.cut(at, end, 4 << 20)
            reading.source.plan(at, stop, 2)
            at, batches = stop, batches + 1
        assert batches > 3
        assert _read_so_far() - before <= 1.4 * file.stat().st_size, "and up to a MiB behind each batch"


def _read_so_far() -> int:
    """How many bytes this process has read."""
    return psutil.Process().io_counters().read_chars
