"""Random DDL: whatever statement a server takes, the tracked definitions stay what its catalogue says."""

from __future__ import annotations

import pymysql
import pytest

from mysql.ddl.following import Follower
from mysql.ddl.random_ddl import RandomDdl
from testkit.servers.mysql_family import SQLServer

STATEMENTS = 120
LEAST_TAKEN = 40


def follow_random(server: SQLServer, seed: int) -> int:
    """Run statements of a seed and return how many the server took."""
    taken = 0
    with Follower(server.connect) as follower:
        made_up = RandomDdl(seed, lambda: follower.tables)
        for _ in range(STATEMENTS):
            statement = made_up.statement()
            try:
                follower.run(statement)
            except pymysql.MySQLError:
                continue
            taken += 1
            if faults := follower.differences():
                pytest.fail("\n".join([f"seed {seed}: after {statement!r}:", *faults]))
        assert not follower.reload_differences()
        assert not follower.snapshot_differences()
    return taken


@pytest.mark.parametrize("seed", [1, 2])
def test_random_ddl(seed: int, db_server: SQLServer) -> None:
    assert follow_random(db_server, seed) >= LEAST_TAKEN


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3, 33))
def test_more_random_ddl(seed: int, db_server: SQLServer) -> None:
    assert follow_random(db_server, seed) >= LEAST_TAKEN
