"""A test run that is killed leaves no server and, after the next run, no folder behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from servers import workspace

STARTER = """
import signal
from servers.mariadb import MariaDBServer
server = MariaDBServer().start()
print(server.pid, server.datadir, flush=True)
signal.pause()
"""
PATIENCE = 30


@pytest.fixture
def killed_run() -> tuple[int, Path]:
    """Process id and data folder of a server whose starter was killed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(workspace.__file__).parent.parent)}
    starter = subprocess.Popen([sys.executable, "-c", STARTER], stdout=subprocess.PIPE, text=True, env=environment)
    assert starter.stdout is not None
    pid, datadir = starter.stdout.readline().split()
    assert psutil.pid_exists(int(pid))
    starter.kill()
    starter.communicate()
    return int(pid), Path(datadir)


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_server_dies_with_its_killed_starter(killed_run: tuple[int, Path]) -> None:
    pid, _ = killed_run
    deadline = time.monotonic() + PATIENCE
    while not gone(pid):
        assert time.monotonic() < deadline, f"process {pid} outlived its starter"
        time.sleep(0.05)


def test_next_process_sweeps_the_folder_and_keeps_those_in_use(killed_run: tuple[int, Path]) -> None:
    _, datadir = killed_run
    assert datadir.exists()
    mine = workspace.new_folder("mine")
    sweep = "from servers.workspace import new_folder; print(new_folder('next'))"
    environment = {**os.environ, "PYTHONPATH": str(Path(workspace.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", sweep], env=environment, check=True, capture_output=True, text=True)
    assert not datadir.exists()
    assert mine.exists()
    assert not Path(done.stdout.strip()).exists()
