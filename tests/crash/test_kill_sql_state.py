"""Pipelines whose state is in a database, killed at random instants, with nothing left of them on their machine."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.kills import ROWS, Kills
from crash.targets import FileTarget
from mysql.state.places import forgetful, make_user
from testkit.journal import Journal
from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.writers import TABLES, BulkWriter, ShopWriter


@pytest.fixture
def kept_in(db_server: SQLServer, database: str) -> Iterator[tuple[SQLServer, str]]:
    """A server and a database for states: the server that is captured, or another one."""
    state = f"{database}_state"
    db_server.execute(f"CREATE DATABASE {state}")
    make_user(db_server, state)
    yield db_server, state
    db_server.execute(f"DROP DATABASE {state}")


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    kept_in: tuple[SQLServer, str],
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    server, journal, target = mysql_server, Journal(), FileTarget(tmp_path)
    server.run_sql(f"CREATE DATABASE IF NOT EXISTS {unique_name}; USE {unique_name}; {TABLES}")
    afterwards.callback(server.execute, f"DROP DATABASE {unique_name}")
    create_reader(server)
    source = source_of(server, unique_name, max_batch_size=300)
    kills = Kills(forgetful(tmp_path, source, target.sink, *kept_in), target, journal, random.Random(seed))
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
