"""Pipelines whose state is in a database, killed at random instants, with nothing left of them on their machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.forgetful_kills import kill_and_prove
from mysql.state.places import forgetful, make_user
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer


@pytest.fixture
def kept_in(db_server: SQLServer, database: str) -> Iterator[tuple[SQLServer, str]]:
    """A server and a database for states: the server that is captured, or another one."""
    state = f"{database}_state"
    db_server.execute(f"CREATE DATABASE {state}")
    make_user(db_server, state)
    yield db_server, state
    db_server.execute(f"DROP DATABASE {state}")


@pytest.mark.one_server
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    kept_in: tuple[SQLServer, str],
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    kill_and_prove(
        mysql_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, *kept_in),
        afterwards,
        nightly=nightly,
    )
