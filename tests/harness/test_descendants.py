"""Processes below a process, and how all of them stand still."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import psutil

from testkit.descendants import descendants, halted
from testkit.servers.process import halt

_COUNTING = "while :; do n=$((n+1)); echo $n >> {path}; sleep 0.01; done"


def test_what_runs_below_a_process_stands_still_with_it(tmp_path: Path) -> None:
    path = tmp_path / "counted"
    path.touch()
    with subprocess.Popen(["sh", "-c", f"sh -c '{_COUNTING.format(path=path)}' & wait"]) as outer:
        try:
            _wait_for_more(path)
            with halted(outer.pid) as processes:
                assert {process.pid for process in processes} >= {outer.pid, *_pids(outer.pid)}
                assert len(processes) >= 2
                before = path.read_bytes()
                time.sleep(0.2)
                assert path.read_bytes() == before
            _wait_for_more(path)
        finally:
            for process in [*descendants(outer.pid), psutil.Process(outer.pid)]:
                process.kill()
    with halted(outer.pid) as processes:
        assert not processes


def test_one_that_has_ended_stands_still() -> None:
    """Its parent, which may stand still, has not heard of it."""
    with subprocess.Popen(["true"]) as ended:
        deadline = time.monotonic() + 30
        while psutil.Process(ended.pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
        halt(ended.pid, seconds=1)


def _pids(pid: int) -> set[int]:
    return {process.pid for process in descendants(pid)}


def _wait_for_more(path: Path) -> None:
    size, deadline = path.stat().st_size, time.monotonic() + 30
    while path.stat().st_size == size:
        assert time.monotonic() < deadline, "nothing is counted"
        time.sleep(0.01)
