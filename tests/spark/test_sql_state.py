"""A pipeline on Spark whose state is in a database: nothing of it has to be left on the driver's machine."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from mysql.state.places import forgetful, make_user
from spark.folderless import assert_each_runner_goes_on
from testkit.servers.mariadb import MariaDBServer

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]


@pytest.mark.nightly
def test_each_runner_goes_on_where_the_other_stopped_without_its_folder(
    mariadb_server: MariaDBServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    server, state = mariadb_server, f"{unique_name}_state"
    server.execute(f"CREATE DATABASE {state}")
    afterwards.callback(server.execute, f"DROP DATABASE {state}")
    make_user(server, state)
    assert_each_runner_goes_on(
        server, unique_name, tmp_path, lambda source, sink: forgetful(tmp_path, source, sink, server, state), afterwards
    )
