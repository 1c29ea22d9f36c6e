"""Pipelines whose state is in Redis, killed at random instants, with nothing left of them on their machine."""

from __future__ import annotations

import os
import random
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.kills import ROWS, Kills
from crash.targets import FileTarget
from redis_state.places import forgetful
from testkit.journal import Journal
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.redis import RedisServer
from testkit.writers import TABLES, BulkWriter, ShopWriter


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    mysql_server: MySQLServer,
    redis_server: RedisServer,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    server, journal, target = mysql_server, Journal(), FileTarget(tmp_path)
    server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    afterwards.callback(server.execute, f"DROP DATABASE {unique_name}")
    create_reader(server)
    source = source_of(server, unique_name, max_batch_size=300)
    pipeline = forgetful(tmp_path, source, target.sink, redis_server, unique_name)
    kills = Kills(pipeline, target, journal, random.Random(seed))
    with ShopWriter(server, unique_name, journal, seed, accounts=ROWS):
        for _ in range(6 if nightly else 1):
            kills.in_snapshot()
        with BulkWriter(server, unique_name, journal, seed, rows=2000):
            for _ in range(7 if nightly else 1):
                kills.in_stream()
                kills.in_transaction()
    kills.to_the_end()
    print(f"killed in: {', '.join(kills.killed_in)}")
    kills.prove(server)
