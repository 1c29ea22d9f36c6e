"""Faults of a table that pass: the batch is written again, and is there once."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.runners.spark import SparkRunner
from cdckit.tables.passing import passes
from cdckit.tables.target import Columns
from cdckit_spark.rows import TableRows
from spark.script import Script

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TABLE = "script.shop.customers"
SECONDS = 120.0


class OptimizeBeside:
    """Holds the next write of a table, once it has begun, until an OPTIMIZE has been committed beside it.

    Attributes:
        rewritten: how many files that took away.
    """

    def __init__(self, session: SparkSession, table: Path, folder: Path) -> None:
        self._session = session
        self._table = table
        self._begun, self._go = folder / "begun", folder / "go"
        self._typed = TableRows.typed
        self._thread = threading.Thread(target=self._optimize)
        self.rewritten = 0

    def held(self, rows: TableRows, columns: Columns, *others: Any) -> DataFrame:
        """What stands for `TableRows.typed`."""
        begun, go, found = str(self._begun), str(self._go), self._typed(rows, columns, *others)
        if len(columns) == 1:
            return found  # the range of the keys, which is known before the merge begins

        def hold(batches: Iterator[Any]) -> Iterator[Any]:
            Path(begun).touch()
            deadline = time.monotonic() + SECONDS
            while not Path(go).exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            yield from batches

        if not self._thread.is_alive() and not self._go.exists():
            self._thread.start()
        return found.coalesce(1).mapInArrow(hold, found.schema)

    def _optimize(self) -> None:
        deadline = time.monotonic() + SECONDS
        while not self._begun.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        table = DeltaTable.forPath(self._session, str(self._table))
        table.optimize().executeCompaction()
        last = table.history(1).collect()[0]
        self.rewritten = int(last.operationMetrics.get("numRemovedFiles", 0)) if last.operation == "OPTIMIZE" else 0
        self._go.touch()


def _change(script: Script, names: range, name: str) -> None:
    for number in names:
        script.change("u" if name != "new" else "c", {"id": number, "name": name})


def test_a_concurrent_optimize_is_waited_for(
    session: SparkSession,
    script: Script,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    lake = tmp_path / "lake"
    pipeline = script.pipeline(tmp_path / "state", "spark", 10, mode="mirror", path=lake, small_batch_rows=0)
    _change(script, range(20), "new")
    SparkRunner(pipeline).run(once=True)
    _change(script, range(3), "changed")
    beside = OptimizeBeside(session, lake / TABLE, tmp_path)

    def typed(rows: TableRows, *arguments: Any) -> DataFrame:
        return beside.held(rows, *arguments)

    monkeypatch.setattr(TableRows, "typed", typed)
    caplog.set_level(logging.WARNING, "cdckit.runner")
    SparkRunner(pipeline).run(once=True)
    assert beside.rewritten > 1
    assert "DELTA_CONCURRENT" in caplog.text
    assert "trying again in" in caplog.text
    rows = session.read.format("delta").load(str(lake / TABLE)).collect()
    assert sorted((row.id, row.name) for row in rows) == [
        (number, "changed" if number < 3 else "new") for number in range(20)
    ]


def test_a_store_that_is_away_passes_and_a_missing_file_does_not(session: SparkSession, tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        store = f"hdfs://127.0.0.1:{unused.getsockname()[1]}/lake"
        reader = session.read.option("ipc.client.connect.max.retries", 0)
        with pytest.raises((PySparkException, Py4JJavaError)) as away:
            reader.text(store)
    with pytest.raises((PySparkException, Py4JJavaError)) as missing:
        session.read.text(str(tmp_path / "nowhere"))
    assert passes(away.value), str(away.value)
    assert not passes(missing.value)


def test_a_connection_to_a_store_that_ends_passes(session: SparkSession) -> None:
    """As to a name node that is killed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_hang_up, args=(server,), daemon=True).start()
        with pytest.raises((PySparkException, Py4JJavaError)) as ended:
            session.read.text(f"hdfs://127.0.0.1:{server.getsockname()[1]}/lake")
        server.shutdown(socket.SHUT_RDWR)
    assert passes(ended.value), str(ended.value)


def _hang_up(server: socket.socket) -> None:
    """Reads what clients send at first, and closes their connections, until the server is shut down."""
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            with client:
                client.recv(1)
                client.shutdown(socket.SHUT_WR)


def test_a_python_process_that_was_killed_passes(session: SparkSession) -> None:
    def killed(_batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from ()

    with pytest.raises((PySparkException, Py4JJavaError)) as gone:
        session.range(1).mapInArrow(killed, "id long").collect()
    assert passes(gone.value), str(gone.value)
