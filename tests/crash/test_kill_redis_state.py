"""Pipelines whose state is in Redis, killed at random instants, with nothing left of them on their machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from crash.forgetful_kills import kill_and_prove
from redis_state.places import forgetful
from testkit.servers.mysql import MySQLServer
from testkit.servers.redis import RedisServer


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    mysql_server: MySQLServer,
    redis_server: RedisServer,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    kill_and_prove(
        mysql_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, redis_server, unique_name),
        afterwards,
        nightly=nightly,
    )
