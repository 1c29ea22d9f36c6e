"""Tables by the thousand: what a table costs in memory, in the snapshot, in the log, and after a restart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from testkit.running import Pipeline, Running, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.real_python, pytest.mark.timeout(3600)]

COLUMNS = (
    "id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(50) NOT NULL DEFAULT 'x', b DECIMAL(10,2), c DATETIME(3), "
    "d TIMESTAMP NULL, e BIGINT UNSIGNED, f TEXT, g ENUM('a','b'), h JSON, i DOUBLE, KEY ka (a), KEY kc (c)"
)
FEW, MANY = 250, 10_000
FEW_MIB, MANY_MIB = 130, 500


@pytest.fixture(scope="module")
def server() -> Iterator[MySQLServer]:
    """A server that makes tables fast, at the price of what a crash would leave of them."""
    fast = {"innodb_flush_log_at_trx_commit": 0, "sync_binlog": 0, "innodb_file_per_table": 0, "innodb_doublewrite": 0}
    with MySQLServer().start(**fast) as started:
        create_reader(started)
        yield started


def test_memory_stays_small_however_many_tables_there_are(server: MySQLServer, tmp_path: Path, nightly: bool) -> None:
    tables, most = (MANY, MANY_MIB) if nightly else (FEW, FEW_MIB)
    _each(server, tables, f"CREATE TABLE {{}} ({COLUMNS})", "INSERT INTO {} (a) VALUES ('x'), ('y')")
    source = source_of(server, "many")
    pipeline = to_file(tmp_path, source)
    with pipeline.running() as process:
        process.wait_until(lambda: _past_snapshot(pipeline), "the end of the snapshot", seconds=900)
        _each(server, tables, "UPDATE {} SET b = 5 WHERE id = 1")
        _reach_end(pipeline, process, server)
        first = _peak(process)
        assert process.stop().code == 0
    with pipeline.running() as process:
        _each(server, tables, "DELETE FROM {} WHERE id = 1")
        _reach_end(pipeline, process, server)
        second = _peak(process)
        assert process.stop().code == 0
    operations = [event["value"]["op"] for event in pipeline.events() if "op" in (event["value"] or {})]
    assert [operations.count(each) for each in "rud"] == [2 * tables, tables, tables]
    assert max(first, second) < most


def _each(server: MySQLServer, tables: int, *statements: str) -> None:
    server.execute("CREATE DATABASE IF NOT EXISTS many")
    with server.connect(database="many") as connection, connection.cursor() as cursor:
        for number in range(tables):
            for statement in statements:
                cursor.execute(statement.format(f"t{number:05d}"))


def _reach_end(pipeline: Pipeline, process: Running, server: MySQLServer) -> None:
    end = server.execute("SHOW BINARY LOG STATUS")[0][:2]
    process.wait_until(lambda: _place(pipeline) >= end, "the log's end", seconds=900)


def _past_snapshot(pipeline: Pipeline) -> bool:
    offset = pipeline.offset()
    return offset is not None and not offset.get("snapshot")


def _place(pipeline: Pipeline) -> tuple[str, int]:
    offset = pipeline.offset() or {}
    return offset.get("file", ""), offset.get("pos", 0)


def _peak(process: Running) -> float:
    """In MiB."""
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
