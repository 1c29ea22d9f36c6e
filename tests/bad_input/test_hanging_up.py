"""A balancer that takes connections and hangs up, for want of a server: a few lines in the log, and advice."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bad_input.conftest import NewPipeline
from testkit.running import Pipeline, source_of
from testkit.servers.mysql_family import SQLServer

SECONDS = 8
LINES = {"topic": 6, "mongodb": 4, "sink": 9}
"""At the most: a start, a few reasons once each, waits that are told of ever more seldom."""


@pytest.fixture
def db_server(mysql_server: SQLServer) -> SQLServer:
    """One server is enough here."""
    return mysql_server


@pytest.fixture
def balancer() -> Iterator[int]:
    """Its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def hang_up() -> None:
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return

    threading.Thread(target=hang_up, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def _source(kind: str, port: int, server: SQLServer, database: str) -> dict[str, Any]:
    if kind == "topic":
        return {
            "type": "debezium", "bootstrap.servers": f"127.0.0.1:{port}", "topics": ["t"],
            "request.timeout.ms": 600_000, "kafka": {"socket.timeout.ms": "60000"},
        }  # fmt: skip
    if kind == "mongodb":
        string = f"mongodb://127.0.0.1:{port}/?directConnection=true"
        return {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": string}
    return source_of(server, database)


@pytest.mark.parametrize("kind", LINES)
def test_repeated_messages_are_said_once(
    kind: str, balancer: int, db_server: SQLServer, shop: str, pipeline: NewPipeline, tmp_path: Path
) -> None:
    sink: dict[str, Any] = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    if kind == "sink":
        sink = {"type": "kafka", "bootstrap.servers": f"127.0.0.1:{balancer}"}
    made = Pipeline(tmp_path, _source(kind, balancer, db_server, shop), sink)
    with made.running() as process:
        time.sleep(SECONDS)
        assert process.process.poll() is None, process.log
        said = process.log
        process.stop()
    assert len(said.splitlines()) <= LINES[kind], said


def test_a_server_that_hangs_up_is_told_with_advice(balancer: int, pipeline: NewPipeline) -> None:
    ended = pipeline(database_port=balancer).run("--once")
    assert ended.code == 3
    assert "error 2013" in ended.errors
    assert "check that database.port is a MySQL server's and no balancer's" in ended.errors


def test_a_lock_that_another_session_holds_is_told_with_advice(
    db_server: SQLServer, shop: str, pipeline: NewPipeline
) -> None:
    holder = db_server.connect(database=shop)
    try:
        with holder.cursor() as cursor:
            cursor.execute("LOCK TABLES t WRITE")
        ended = pipeline(snapshot_lock_timeout_ms=1000, errors_max_retries=0).run("--once")
    finally:
        holder.close()
    assert ended.code == 3
    assert "Lock wait timeout" in ended.errors
    assert "another session holds what is asked for" in ended.errors
