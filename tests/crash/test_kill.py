"""Pipelines killed at random instants: nothing is missing, each key's order holds, only the unsaved is repeated."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from crash.kills import ROWS, Kills
from crash.targets import FileTarget, KafkaTarget
from testkit.journal import Journal
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql_family import SQLServer
from testkit.writers import TABLES, BulkWriter, ShopWriter


@pytest.fixture(params=[pytest.param("mysql-file", marks=pytest.mark.nightly), "mysql-kafka", "mariadb-file"])
def case(request: pytest.FixtureRequest) -> tuple[SQLServer, str]:
    """A server, and the kind of the sink."""
    server, _, sink = request.param.partition("-")
    return request.getfixturevalue(f"{server}_server"), sink


@contextmanager
def _locked(server: SQLServer, table: str) -> Iterator[None]:
    """Nobody else reads a table meanwhile."""
    with server.connect() as session, session.cursor() as cursor:
        cursor.execute(f"LOCK TABLES {table} WRITE")
        yield


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    case: tuple[SQLServer, str],
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    server, kind = case
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    chance = random.Random(seed)
    server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    afterwards.callback(server.execute, f"DROP DATABASE {unique_name}")
    create_reader(server)
    target = (
        FileTarget(tmp_path) if kind == "file" else KafkaTarget(request.getfixturevalue("kafka_broker"), unique_name)
    )
    journal = Journal()
    source = source_of(server, unique_name, topic_prefix=unique_name, max_batch_size=300)
    options = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 50}
    kills = Kills(Pipeline(tmp_path, source, target.sink, options), target, journal, chance)
    with ShopWriter(server, unique_name, journal, seed, accounts=ROWS):
        kills.in_snapshot(lambda: _locked(server, f"{unique_name}.bulk"))  # empty, and read behind the rows
        for _ in range(9 if nightly else 1):
            kills.in_snapshot()
        with BulkWriter(server, unique_name, journal, seed, rows=2000):
            for _ in range(10 if nightly else 2):
                kills.in_stream()
                kills.in_transaction()
    kills.to_the_end()
    print(f"killed in: {', '.join(kills.killed_in)}")
    assert "snapshot" in kills.killed_in
    kills.prove(server)
