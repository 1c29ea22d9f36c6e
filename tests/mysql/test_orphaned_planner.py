"""A planner whose driver is gone lets go of the state, however long it would have waited for changes."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import psutil

from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from testkit.servers.process import bound_to_parent

SECONDS = 60


def test_it_ends_with_its_driver(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    create_reader(mysql_server)
    pipeline = to_file(tmp_path, source_of(mysql_server, unique_name, snapshot_mode="no_data"))
    command = [sys.executable, "-m", "mysql.plans_on", str(pipeline.written())]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
    ) as driver:
        assert driver.stdout is not None
        planner = psutil.Process(int(driver.stdout.readline()))
        driver.kill()
    try:
        planner.wait(SECONDS)
    finally:
        if planner.is_running():
            planner.kill()
