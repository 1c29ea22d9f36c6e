"""Servers that go away under a running pipeline, and come back or do not."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from bad_input.conftest import BEFORE, DATABASE, MANY, has_events, past_snapshot, rows, with_many_rows
from testkit.running import source_of, to_file
from testkit.servers.mysql_family import SQLServer
from testkit.servers.process import halt
from testkit.servers.proxy import Proxy

pytestmark = pytest.mark.one_server


def test_a_server_that_is_killed_and_comes_back_is_read_on(server: SQLServer, tmp_path: Path) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE, retriable_restart_connector_wait_ms=500))
    with made.running() as process:
        past_snapshot(process)
        server.kill()
        process.wait_for("trying again")
        server.start()
        server.execute("INSERT INTO t VALUES (3, 'c')", database=DATABASE)
        has_events(process, 3)
        server.restart()
        server.execute("INSERT INTO t VALUES (4, 'd')", database=DATABASE)
        has_events(process, 4)
        ended = process.stop()
    assert ended.code == 0
    assert rows(made) == [*BEFORE, ("c", None, (3, "c")), ("c", None, (4, "d"))]


def test_a_server_that_hangs_is_taken_for_gone(server: SQLServer, tmp_path: Path) -> None:
    options = {"connect_timeout_ms": 1000, "connect_keep_alive_interval_ms": 1000}
    made = to_file(tmp_path, source_of(server, DATABASE, **options))
    with made.running() as process:
        past_snapshot(process)
        server.execute("INSERT INTO t VALUES (3, 'c')", database=DATABASE)
        has_events(process, 3)  # the log is read by now
        server.signal(signal.SIGSTOP)
        try:
            process.wait_for("not even a heartbeat")
            process.wait_for("attempt 2")
            other = to_file(tmp_path / "other", made.source)
            other.folder.mkdir()
            ended = other.run("--once")
        finally:
            server.signal(signal.SIGCONT)
        server.execute("INSERT INTO t VALUES (4, 'd')", database=DATABASE)
        has_events(process, 4)
        assert process.stop().code == 0
    assert ended.code == 3
    assert "timed out" in ended.errors
    assert rows(made) == [*BEFORE, ("c", None, (3, "c")), ("c", None, (4, "d"))]


def test_after_as_many_retries_as_wanted_the_pipeline_ends(server: SQLServer, tmp_path: Path) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE, errors_max_retries=1))
    with made.running() as process:
        past_snapshot(process)
        server.kill()
        ended = process.ended()
    server.start()
    assert ended.code == 3
    assert "(attempt 1 of 1)" in ended.stderr
    assert "gave up after 1 attempts (errors.max.retries)" in ended.errors
    assert rows(made) == BEFORE


class LogCutter(Proxy):
    """Cuts each connection that asks for the log and what comes in future."""

    def _pass_on(self, source: socket.socket, target: socket.socket, *, counts: bool) -> None:
        while data := source.recv(1 << 14):
            if not counts and _follows_log(data):
                return
            target.sendall(data)


def _follows_log(packet: bytes) -> bool:
    """Whether a client says COM_BINLOG_DUMP or COM_BINLOG_DUMP_GTID, in whose flags 1 is to end at the log's end."""
    flags = {0x12: 9, 0x1E: 5}.get(packet[4]) if len(packet) > 9 else None
    return flags is not None and not packet[flags] & 1


def test_a_server_that_gives_its_log_to_nobody_is_asked_for_it_so_often(server: SQLServer, tmp_path: Path) -> None:
    """Also where the pipeline begins with that: it answers all other questions, so that its address is right."""
    options = {"errors_max_retries": 2, "retriable_restart_connector_wait_ms": 10, "database_ssl_mode": "disabled"}
    with LogCutter(server.port) as proxy:
        made = to_file(tmp_path, source_of(server, DATABASE, **options, database_port=proxy.port))
        assert made.run("--once").code == 0
        ended = made.run()
    assert ended.code == 3
    assert "(attempt 2 of 2)" in ended.stderr
    assert "gave up after 2 attempts (errors.max.retries)" in ended.errors


def test_a_server_that_restarts_during_the_snapshot_has_it_taken_again(server: SQLServer, tmp_path: Path) -> None:
    with_many_rows(server, DATABASE)
    made = to_file(tmp_path, source_of(server, DATABASE, table_include_list=f"{DATABASE}.many"))
    with made.running("--once") as process:
        process.wait_until(lambda: made.output.exists() and made.output.stat().st_size > 1_000_000, "some rows")
        halt(process.process.pid)
        server.kill()
        server.start()
        server.execute("DELETE FROM many WHERE id = 1", database=DATABASE)
        process.process.send_signal(signal.SIGCONT)
        ended = process.ended()
    assert ended.code == 0
    assert "trying again" in ended.stderr
    found = [(event["key"]["id"], event["value"]["op"]) for event in made.events() if event["value"]]
    assert {key for key, op in found if op == "r"} == set(range(MANY))
    assert found.count((1, "r")) == 1
    assert found.index((1, "d")) > found.index((1, "r"))


def test_a_server_that_restarts_under_once_is_read_to_its_end(server: SQLServer, tmp_path: Path) -> None:
    with_many_rows(server, DATABASE)
    options = {"table_include_list": f"{DATABASE}.many", "snapshot_mode": "no_data", "max_batch_size": 100}
    made = to_file(tmp_path, source_of(server, DATABASE, **options))
    assert made.run("--once").code == 0
    for first in range(0, MANY, 1000):  # a transaction of MariaDB is read to its end before its first row is told
        server.execute(f"UPDATE many SET v = 'new' WHERE id BETWEEN {first} AND {first + 999}", database=DATABASE)
    with made.running("--once") as process:
        process.wait_until(lambda: made.output.stat().st_size > 1_000_000, "some rows")
        halt(process.process.pid)
        server.kill()
        server.start()
        process.process.send_signal(signal.SIGCONT)
        ended = process.ended()
    assert ended.code == 0, ended.stderr
    assert "trying again" in ended.stderr
    assert [event["key"]["id"] for event in made.events()] == list(range(MANY))
