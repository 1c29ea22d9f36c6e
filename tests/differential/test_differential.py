"""Random workloads, captured by this project and by a live Debezium: every event is equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from pathlib import Path
from random import Random

import pytest
from pymysql.connections import Connection
from pymysql.cursors import Cursor

from differential.both import AT_ONCE, assert_equal, run_both
from differential.debezium import libraries
from differential.workload import Workload
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.unequal(
    "definitions change at random, and older events lack what that gave their rows", always=False
)
ROWS, STEPS = 8, 60
CHOICES = {
    "decimal.handling.mode": ("precise", "string", "double"),
    "time.precision.mode": ("adaptive_time_microseconds", "connect", "isostring", "microseconds", "nanoseconds"),
    "bigint.unsigned.handling.mode": ("long", "precise"),
    "binary.handling.mode": ("bytes", "base64", "base64-url-safe", "hex"),
    "tombstones.on.delete": ("true", "false"),
    "column.propagate.source.type": ("", ".*"),
    "skipped.operations": ("t", "none"),
    "provide.transaction.metadata": ("false", "true"),
    "include.query": ("false", "true"),
    "schema.name.adjustment.mode": ("none", "avro"),
    "field.name.adjustment.mode": ("none", "avro"),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Three workloads, or twenty by night."""
    metafunc.parametrize("seed", range(20 if metafunc.config.getoption("--nightly") else 3))


@pytest.fixture(scope="module")
def captured(mysql_server: SQLServer, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Gives the folder with the events of both systems for a seed: `SEED.own.jsonl` and `SEED.peer.jsonl`."""
    if libraries() is None:
        pytest.skip("Debezium's jars are missing: pip install 'cdckit[peer]'")

    @cache
    def capture(group: int) -> Path:
        folder = tmp_path_factory.mktemp("differential")
        with ExitStack() as stack:
            workloads = []
            for seed in range(group * AT_ONCE, (group + 1) * AT_ONCE):
                (folder / f"{seed}.properties").write_text(_options(mysql_server, folder, seed))
                workloads.append(Workload(seed, stack.enter_context(_database(mysql_server, seed))))
                workloads[-1].set_up(ROWS)
            run_both(folder, workloads, STEPS, _own_options)
        return folder

    return lambda seed: capture(seed // AT_ONCE)


@contextmanager
def _database(server: SQLServer, seed: int) -> Iterator[Connection[Cursor]]:
    name = f"differential_{seed}"
    server.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    try:
        with closing(server.connect(database=name)) as connection:
            yield connection
    finally:
        server.execute(f"DROP DATABASE {name}")


def _options(server: SQLServer, folder: Path, seed: int) -> str:
    random = Random(seed)
    options = {
        "name": f"engine-{seed}",
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "topic.prefix": f"g{seed}",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": 700_000 + seed,
        "database.include.list": f"differential_{seed}",
        "driver.allowPublicKeyRetrieval": "true",
        "include.schema.changes": "true",
        "errors.max.retries": 0,
        "schema.history.internal.store.only.captured.databases.ddl": "true",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / f"{seed}.history",
        "offset.storage": "org.apache.kafka.connect.storage.MemoryOffsetBackingStore",
        **{name: random.choice(values) for name, values in CHOICES.items()},
    }
    return "".join(f"{name}={value}\n" for name, value in options.items())


def _own_options(seed: int) -> list[str]:
    return [f"source.database.server.id={800_000 + seed}"]


def test_every_event_is_equal(captured: Callable[[int], Path], seed: int) -> None:
    assert_equal(captured(seed), seed, more_than=ROWS)
