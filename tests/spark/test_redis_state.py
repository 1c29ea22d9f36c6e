"""A pipeline on Spark whose state is in Redis: nothing of it has to be left on the driver's machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from redis_state.places import forgetful
from spark.folderless import assert_each_runner_goes_on
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.redis import RedisServer

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.usefixtures("session")]


def test_each_runner_goes_on_where_the_other_stopped_without_its_folder(
    mariadb_server: MariaDBServer, redis_server: RedisServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    assert_each_runner_goes_on(
        mariadb_server,
        unique_name,
        tmp_path,
        lambda source, sink: forgetful(tmp_path, source, sink, redis_server, unique_name),
        afterwards,
        ("direct", "spark", "spark", "direct"),
    )
