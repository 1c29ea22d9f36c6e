"""Memory does not grow with the table or the transaction.

What is written is several times what a pipeline may take: one that held all of it would be found out, also with the
smaller numbers of the normal series.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from testkit.running import Pipeline, Running, create_reader, source_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.real_python

FILE_MIB = 120
"""How many MiB a pipeline to a file may take."""
WIDE_ROWS_MIB = 160
"""The same with rows of 1 MB, whose blocks leave holes in the heap: 95 on a quiet machine, 127 on a busy one."""
KAFKA_MIB = 170
"""The same to Kafka, whose client holds back up to 50,000 records, here of half a KiB and as much of its own."""
DELTA_MIB = 180
"""The same to a Delta changelog, snapshot or stream: 128 to 142."""
DELTA_WIDE_ROWS_MIB = 380
"""The same with rows of 1 MB, of which some wait for a commit."""
PROOF_MIB = 220
"""The same of `cdc diff`, which holds 32 MiB of hashes, and 16 batches of the source."""
WIDE_TABLE_MIB = 300
"""The same with 2,048 rows of 1,000 columns in hand, decoded."""
WORKER_MIB = 300
"""How many MiB a worker of Spark's may take; 120 of them are its libraries'."""
NUMBERS = (
    "WITH RECURSIVE a AS (SELECT 0 i UNION ALL SELECT i + 1 FROM a WHERE i < 999), "
    "n AS (SELECT x.i * 1000 + y.i i FROM a x CROSS JOIN a y)"
)
NARROW = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40), w VARCHAR(100))"
WIDE = "CREATE TABLE t (id INT PRIMARY KEY, v MEDIUMTEXT)"


@dataclass(frozen=True)
class Database:
    """A database of the test's own on a MySQL server."""

    server: MySQLServer
    name: str
    folder: Path

    def run(self, script: str) -> None:
        self.server.run_sql(script, database=self.name)

    def pipeline(self, sink: dict[str, object], **options: object) -> Pipeline:
        source = source_of(self.server, self.name, topic_prefix=self.name, **options)
        return Pipeline(self.folder, source, sink, {"serializer": {"schemas.enable": False}})


@pytest.fixture
def database(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Iterator[Database]:
    create_reader(mysql_server)
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    yield Database(mysql_server, unique_name, tmp_path)
    mysql_server.execute(f"DROP DATABASE {unique_name}")


Sink = tuple[dict[str, object], int]


@pytest.fixture
def sink(request: pytest.FixtureRequest) -> Sink:
    """A sink's options, and the MiB that a pipeline there may take."""
    if request.param == "file":
        return {"type": "file", "path": "/dev/null"}, FILE_MIB
    if request.param == "delta":
        return {"type": "delta", "path": str(request.getfixturevalue("tmp_path") / "lake")}, DELTA_MIB
    broker: KafkaBroker = request.getfixturevalue("kafka_broker")
    large = {"kafka.message.max.bytes": 2_000_000, "topic.creation.default.max.message.bytes": 2_000_000}
    return {"type": "kafka", "bootstrap.servers": broker.bootstrap, **large}, KAFKA_MIB


_NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly) for name in ("kafka", "delta")]
PACKED = pytest.param("packed messages", marks=pytest.mark.nightly)
SINKS = pytest.mark.parametrize("sink", ["file", *_NIGHTLY], indirect=True)


@pytest.mark.parametrize("sink", ["file", _NIGHTLY[0], "delta"], indirect=True)
def test_a_large_transaction(database: Database, sink: Sink, nightly: bool) -> None:
    options, most = sink
    rows = 500_000 if nightly else 300_000 if options["type"] == "delta" else 120_000
    database.run(NARROW)
    insert = f"INSERT INTO t {NUMBERS} SELECT i, CONCAT('v', i), REPEAT('w', 90) FROM n WHERE i < {rows}"
    assert _peak(database, options, 0, lambda: database.run(insert), rows) < most


def test_a_large_compressed_transaction(database: Database, nightly: bool) -> None:
    rows = 500_000 if nightly else 120_000
    database.run(NARROW)
    insert = f"INSERT INTO t {NUMBERS} SELECT i, CONCAT('v', i), REPEAT('w', 90) FROM n WHERE i < {rows}"
    script = f"SET binlog_transaction_compression = ON; {insert}"
    assert _peak(database, {"type": "file", "path": "/dev/null"}, 0, lambda: database.run(script), rows) < FILE_MIB


@SINKS
def test_a_large_table(database: Database, sink: Sink, nightly: bool) -> None:
    options, most = sink
    rows = 1_000_000 if nightly else 100_000
    insert = f"INSERT INTO t {NUMBERS} SELECT i, CONCAT('v', i), REPEAT('w', 90) FROM n WHERE i < {rows}"
    twice = f"INSERT INTO t SELECT id + {rows}, v, w FROM t"
    database.run(f"SET sql_log_bin = 0; {NARROW}; {insert}; {twice}")
    assert _peak(database, options, 2 * rows) < most


def test_a_large_table_through_several_connections(database: Database, nightly: bool) -> None:
    rows = 1_000_000 if nightly else 120_000
    insert = f"INSERT INTO t {NUMBERS} SELECT i, CONCAT('v', i), REPEAT('w', 90) FROM n WHERE i < {rows}"
    database.run(f"SET sql_log_bin = 0; {NARROW}; {insert}; ANALYZE TABLE t")
    sink: dict[str, object] = {"type": "file", "path": "/dev/null"}
    assert _peak(database, sink, rows, snapshot_max_threads=4) < FILE_MIB


@SINKS
def test_wide_rows(database: Database, sink: Sink, nightly: bool) -> None:
    options, most = sink
    most = DELTA_WIDE_ROWS_MIB if options["type"] == "delta" else max(most, WIDE_ROWS_MIB)
    rows = 600 if nightly else 150
    insert = f"INSERT INTO t {NUMBERS} SELECT i, REPEAT('w', 1000000) FROM n WHERE i < {rows}"
    database.run(f"SET sql_log_bin = 0; {WIDE}; {insert}")
    half = f"INSERT INTO t {NUMBERS} SELECT 1000 + i, REPEAT('x', 1000000) FROM n WHERE i < {rows}"
    assert _peak(database, options, rows, lambda: database.run(half), rows) < most


@pytest.mark.parametrize("wide", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_a_proof(database: Database, wide: bool, nightly: bool) -> None:
    rows = (300 if nightly else 150) if wide else (1_000_000 if nightly else 150_000)
    made = f"{WIDE}; INSERT INTO t {NUMBERS} SELECT i, REPEAT('w', 1000000) FROM n WHERE i < {rows}"
    if not wide:
        made = f"{NARROW}; INSERT INTO t {NUMBERS} SELECT i, CONCAT('v', i), REPEAT('w', 90) FROM n WHERE i < {rows}"
    database.run(f"SET sql_log_bin = 0; {made}")
    pipeline = database.pipeline({"type": "file", "path": str(database.folder / "out.jsonl")})
    assert pipeline.run("--once").code == 0
    command = [sys.executable, "-m", "cdckit", "diff", str(pipeline.written())]
    peak = 0.0
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
            peak = max(peak, int(found[1]) / 1024 if found else 0.0)
            time.sleep(0.02)
    assert process.returncode == 0
    assert 20 < peak < PROOF_MIB


def test_a_table_of_many_columns_with_schemas(database: Database) -> None:
    """Each event has the schema of 1,000 columns in it: 2,000 of them are some 600 MB."""
    columns = ", ".join(f"c{number} INT" for number in range(1000))
    rows = 4000
    insert = f"INSERT INTO t (id, c1) {NUMBERS} SELECT i, i FROM n WHERE i < {rows // 2}"
    database.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}); {insert}")
    more = f"INSERT INTO t (id, c1) {NUMBERS} SELECT i + {rows}, i FROM n WHERE i < {rows // 2}"
    sink: dict[str, object] = {"type": "file", "path": "/dev/null"}
    made = database.pipeline(sink, max_batch_size=2048)
    wide = Pipeline(made.folder, made.source, sink, {"serializer": {"schemas.enable": True}})
    with wide.running() as process:
        process.wait_until(lambda: _past_snapshot(wide), "the end of the snapshot")
        database.run(more)
        end = database.server.execute("SHOW BINARY LOG STATUS")[0][:2]
        process.wait_until(lambda: _place(wide) >= end, "the log's end")
        peak = _peak_so_far(process)
        assert process.stop().code == 0
    assert peak < WIDE_TABLE_MIB


@pytest.mark.parametrize("form", ["messages", PACKED, "table rows"])
def test_wide_rows_of_a_snapshot_in_a_worker_of_spark(database: Database, form: str) -> None:
    insert = f"INSERT INTO t {NUMBERS} SELECT i, REPEAT('w', 1000000) FROM n WHERE i < 300"
    database.run(f"SET sql_log_bin = 0; {WIDE}; {insert}")
    sink: dict[str, object] = {"type": "file", "path": "/dev/null"}
    if form == "table rows":
        sink = {"type": "spark", "path": str(database.folder / "lake")}
    read, peak = _read_by_worker(database.pipeline(sink), form)
    assert read > 300_000_000 or form != "messages"  # the others are compressed
    assert peak < WORKER_MIB


@pytest.mark.parametrize("form", ["messages", PACKED])
def test_wide_rows_of_the_log_in_a_worker_of_spark(database: Database, form: str) -> None:
    database.run(WIDE)
    pipeline = database.pipeline({"type": "file", "path": "/dev/null"})
    assert pipeline.run("--once").code == 0
    database.run(f"INSERT INTO t {NUMBERS} SELECT i, REPEAT('w', 1000000) FROM n WHERE i < 300")
    read, peak = _read_by_worker(pipeline, form)
    assert read > 300_000_000 or form != "messages"
    assert peak < WORKER_MIB


def test_a_table_of_many_columns_with_schemas_in_a_worker_of_spark(database: Database) -> None:
    columns = ", ".join(f"c{number} INT" for number in range(1000))
    insert = f"INSERT INTO t (id, c1) {NUMBERS} SELECT i, i FROM n WHERE i < 4000"
    database.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}); {insert}")
    made = database.pipeline({"type": "file", "path": "/dev/null"})
    wide = Pipeline(made.folder, made.source, made.sink, {"serializer": {"schemas.enable": True}})
    read, peak = _read_by_worker(wide, "messages")
    assert read > 400_000_000
    assert peak < WIDE_TABLE_MIB


def _read_by_worker(pipeline: Pipeline, form: str) -> tuple[int, int]:
    """How many bytes one of Spark's workers makes of all that is there, and its peak of memory in MiB."""
    program = Path(__file__).with_name("reads_splits.py")
    done = subprocess.run([sys.executable, program, pipeline.written(), form], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    said = json.loads(done.stdout.splitlines()[-1])
    return said["bytes"], said["peak"]


def _peak(
    database: Database,
    sink: dict[str, object],
    there: int,
    write: Callable[[], None] = lambda: None,
    written: int = 0,
    **options: object,
) -> float:
    """The most memory, in MiB, of a pipeline that reads `there` rows and then those that are written."""
    pipeline = database.pipeline(sink, **options)
    with pipeline.running() as process:
        process.wait_until(lambda: _past_snapshot(pipeline), "the end of the snapshot")
        write()
        end = database.server.execute("SHOW BINARY LOG STATUS")[0][:2]
        process.wait_until(lambda: _place(pipeline) >= end, "the log's end")
        peak = _peak_so_far(process)
        ended = process.stop()
    assert f"stopped; {there + written:,} events delivered" in ended.stderr
    return peak


def _past_snapshot(pipeline: Pipeline) -> bool:
    offset = pipeline.offset()
    return offset is not None and not offset.get("snapshot")


def _place(pipeline: Pipeline) -> tuple[str, int]:
    offset = pipeline.offset() or {}
    return offset["file"], offset["pos"]


def _peak_so_far(process: Running) -> float:
    status = Path(f"/proc/{process.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
