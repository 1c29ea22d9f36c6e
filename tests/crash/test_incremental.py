"""Tables are read again while others write to them, and pipelines are killed (SIGKILL): changes win over chunks."""

from __future__ import annotations

import json
import os
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.proof import assert_complete, without_repeats
from crash.targets import FileTarget
from testkit.journal import Journal
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES, SQLServer
from testkit.writers import TABLES, ShopWriter

ROWS = 3000
_SIGNALS = "CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048));"


def _killed(pipeline: Pipeline, target: FileTarget, rows: float) -> bool:
    """A run that is killed when about so many rows more have arrived; whether tables were being read by then."""
    before = target.size()
    with pipeline.running() as process:
        process.wait_until(lambda: target.size() - before >= rows)
        process.kill()
    return _reads_tables(pipeline)


def _reads_tables(pipeline: Pipeline) -> bool:
    return "cdckit_incremental" in (pipeline.offset() or {})


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("server", "read_only"),
    [
        ("mysql", False),
        ("mariadb", True),
        pytest.param("mariadb", False, marks=pytest.mark.nightly),
        pytest.param("mysql", True, marks=pytest.mark.nightly),
    ],
)
def test_changes_win_over_chunks(
    server: str,
    read_only: bool,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    db_server: SQLServer = request.getfixturevalue(f"{server}_server")
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    chance, journal, target = random.Random(seed), Journal(), FileTarget(tmp_path)
    db_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES} {_SIGNALS}")
    afterwards.callback(db_server.execute, f"DROP DATABASE {unique_name}")
    create_reader(db_server, *CAPTURE_PRIVILEGES, *(() if read_only else SIGNAL_PRIVILEGES))
    source = source_of(
        db_server,
        unique_name,
        snapshot_mode="no_data",
        table_include_list=rf"{unique_name}\.(accounts|parts)",
        signal_data_collection=f"{unique_name}.signals",
        incremental_snapshot_chunk_size=100,
        read_only=read_only,
    )
    options = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 50}
    pipeline = Pipeline(tmp_path, source, target.sink, options)
    with ShopWriter(db_server, unique_name, journal, seed, accounts=ROWS):
        with pipeline.running() as process:
            process.wait_for("snapshot at")
            known = journal.lengths()
            data = json.dumps({"data-collections": [rf"{unique_name}\.(accounts|parts)"]})
            db_server.execute(f"INSERT INTO {unique_name}.signals VALUES ('1', 'execute-snapshot', %s)", (data,))
            process.wait_until(lambda: _reads_tables(pipeline))
            process.kill()
        middle = [_reads_tables(pipeline)]
        middle += [_killed(pipeline, target, chance.uniform(0.02, 0.3) * ROWS) for _ in range(20 if nightly else 2)]
        assert any(middle), "no kill while tables were read"
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.stderr
    delivered = list(target.delivered())
    assert sum(1 for record in delivered if record.change.op == "r") > ROWS / 2
    assert_complete(journal.changes(), without_repeats(delivered), known)
