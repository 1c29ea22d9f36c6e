"""A test run that is killed leaves no server, no pipeline and, after the next run, no folder behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from harness.test_warm_python import assert_end
from testkit.servers import workspace

STARTER = """
import signal
from testkit.servers.mariadb import MariaDBServer
server = MariaDBServer().start()
print(server.pid, server.datadir, flush=True)
signal.pause()
"""
PIPELINE = """
import signal, sys
from pathlib import Path
from testkit.running import to_file
from testkit.servers.ports import free_port
away = {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": f"mongodb://127.0.0.1:{free_port()}"}
with to_file(Path(sys.argv[1]), away).running() as pipeline:
    pipeline.wait_for("waiting for one")
    print(pipeline.process.pid, flush=True)
    signal.pause()
"""


def killed(program: str, *arguments: str | Path) -> list[str]:
    """What a process printed on its line, the id of its child first, before it was killed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(workspace.__file__).parents[2])}
    command = [sys.executable, "-c", program, *arguments]
    starter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert starter.stdout is not None
    said = starter.stdout.readline().split()
    assert psutil.pid_exists(int(said[0]))
    starter.kill()
    starter.communicate()
    return said


@pytest.fixture
def killed_run() -> tuple[int, Path]:
    """Process id and data folder of a server whose starter was killed."""
    pid, datadir = killed(STARTER)
    return int(pid), Path(datadir)


def test_server_dies_with_its_killed_starter(killed_run: tuple[int, Path]) -> None:
    assert_end(killed_run[0])


def test_pipeline_dies_with_its_killed_starter(tmp_path: Path) -> None:
    assert_end(int(killed(PIPELINE, tmp_path)[0]))


def test_next_process_sweeps_the_folder_and_keeps_those_in_use(killed_run: tuple[int, Path]) -> None:
    pid, datadir = killed_run
    assert datadir.exists()
    assert_end(pid)  # until then it may write into the folder, which cannot be removed under its hands
    mine = workspace.new_folder("mine")
    sweep = "from testkit.servers.workspace import new_folder; print(new_folder('next'))"
    environment = {**os.environ, "PYTHONPATH": str(Path(workspace.__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", sweep], env=environment, check=True, capture_output=True, text=True)
    assert not datadir.exists()
    assert mine.exists()
    assert not Path(done.stdout.strip()).exists()
