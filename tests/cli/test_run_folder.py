"""`cdc run DIR`: many pipelines at once, of which none harms another."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.fleet.limits import Limits, Size
from cdckit.cli.fleet.memory import resident
from cdckit.engine.metrics.status_file import read_status
from testkit.states import offset_in

Cdc = Callable[..., Any]
SECONDS = 60.0


def write(folder: Path, name: str, *lines: dict[str, Any], **source: Any) -> Path:
    """A pipeline of the scripted source into a file."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    content = {
        "name": name,
        "runner": "direct",
        "state": str(folder / "state" / name),
        "serializer": {"schemas.enable": False},
        "source": {"type": "scripted", "script": str(folder / f"{name}.jsonl"), **source},
        "sink": {"type": "file", "path": str(folder / "out" / f"{name}.txt")},
    }
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps(content))
    (folder / "out").mkdir(exist_ok=True)
    return path


def delivered(folder: Path, name: str) -> list[int]:
    path = folder / "out" / f"{name}.txt"
    return [json.loads(line)["value"]["n"] for line in path.read_text().splitlines()] if path.exists() else []


def pid(folder: Path, name: str) -> int:
    """The process that runs a pipeline; 0 while none does."""
    status = read_status(folder / "state" / name)
    return int(status["pid"]) if status is not None and status["alive"] and status["state"] == "running" else 0


def until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"never came to {what}"
        time.sleep(0.02)


@contextmanager
def running(environment: dict[str, str], folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The fleet in a process group of its own, its logs in a file."""
    with (folder.parent / "log").open("wb") as log:
        command = [os.sys.executable, "-m", "cdckit", "run", str(folder), *arguments]  # type: ignore[attr-defined]
        process = subprocess.Popen(command, env=environment, stderr=log, cwd=folder.parent, start_new_session=True)
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "pipelines"


def test_each_delivers_and_the_prefix_says_whose_line_it_is(program: Cdc, folder: Path) -> None:
    write(folder, "orders", {"n": 1}, {"n": 2})
    write(folder, "stock", {"n": 3})
    called = program("run", str(folder), "--once")
    assert called.code == 0, called.stderr
    assert (delivered(folder, "orders"), delivered(folder, "stock")) == ([1, 2], [3])
    assert "stock  | " in called.stderr
    assert {line.partition(" | ")[0].strip() for line in called.stderr.splitlines() if " | " in line} == {
        "orders",
        "stock",
    }


def test_json_lines_name_their_pipeline(program: Cdc, folder: Path) -> None:
    write(folder, "orders", {"n": 1})
    called = program("--log-format", "json", "run", str(folder), "--once")
    assert {line.get("pipeline") for line in called.logs} == {"orders", None}
    assert any(line.get("pipeline") == "orders" and "stopped" in line["message"] for line in called.logs)


def test_one_that_fails_leaves_the_others_alone(program: Cdc, folder: Path) -> None:
    write(folder, "broken", {"n": 1}, {"raise": "SourceError", "say": "no such table"})
    write(folder, "stock", {"n": 3})
    (folder / "other.yaml").write_text("source: {type: scripted, script: [}")
    (folder / "notes.json").write_text("{}")
    called = program("run", str(folder), "--once")
    assert called.code == 3
    assert "broken | error CDC3000: no such table" in called.stderr.replace("   ", " ").replace("  ", " ")
    assert "other has ended with 2" in called.stderr
    assert (delivered(folder, "broken"), delivered(folder, "stock")) == ([1], [3])


def test_a_death_harms_no_other_and_a_stop_drains_all(environment: dict[str, str], folder: Path) -> None:
    write(folder, "orders", {"n": 1})
    write(folder, "stock", {"n": 2})
    with running(environment, folder) as fleet:
        until(lambda: bool(pid(folder, "orders") and pid(folder, "stock")), "both running")
        killed, other = pid(folder, "orders"), pid(folder, "stock")
        os.kill(killed, signal.SIGKILL)
        until(lambda: pid(folder, "orders") not in (0, killed), "a new process")
        assert pid(folder, "stock") == other
        until(lambda: delivered(folder, "stock") == [2], "what was there")
        until(lambda: set(delivered(folder, "orders")) == {1}, "what was there")  # twice, where nothing was saved yet
        fleet.terminate()
        assert fleet.wait(SECONDS) == 0
    assert "orders has ended with 137; it begins anew in 1 s" in (folder.parent / "log").read_text()
    assert [offset_in(folder / "state" / name) for name in ("orders", "stock")] == [{"line": 1}, {"line": 1}]
    assert pid(folder, "orders") == pid(folder, "stock") == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_to_the_whole_group_drains_all(
    environment: dict[str, str], folder: Path, number: signal.Signals, code: int
) -> None:
    """As a terminal sends SIGINT, and systemd SIGTERM: each process gets it, and what the fleet passes on."""
    write(folder, "orders", {"n": 1})
    with running(environment, folder) as fleet:
        until(lambda: pid(folder, "orders") > 0, "running")
        os.killpg(fleet.pid, number)
        assert fleet.wait(SECONDS) == code
    status = read_status(folder / "state" / "orders")
    assert status is not None
    assert status["state"] == "stopped"


def test_one_that_takes_too_much_memory_is_ended(environment: dict[str, str], folder: Path) -> None:
    write(folder, "orders", {"n": 1})
    with running(environment, folder, "--memory", "10M", "--restart", "never") as fleet:
        code = fleet.wait(SECONDS)
    log = (folder.parent / "log").read_text()
    assert "more than the 10 MiB that --memory allows: it is ended" in log
    assert code in (0, 143), log  # it may not have come as far as to listen


def test_without_its_keeper_a_pipeline_ends_in_order(environment: dict[str, str], folder: Path) -> None:
    write(folder, "orders", {"n": 1})
    with running(environment, folder) as fleet:
        until(lambda: delivered(folder, "orders") == [1], "what was there")
        fleet.kill()
        until(lambda: (read_status(folder / "state" / "orders") or {})["state"] == "stopped", "its end")
    assert delivered(folder, "orders") == [1]


def test_two_with_the_same_state_are_refused(cdc: Cdc, folder: Path) -> None:
    write(folder, "orders", {"n": 1})
    (folder / "again.yaml").write_text((folder / "orders.yaml").read_text())
    called = cdc("run", str(folder), "--once")
    assert called.code == 2
    assert f"orders.yaml: has the state of again.yaml, {folder}/state/orders; give it a 'name' of its own" in (
        called.stderr
    )


def test_a_folder_without_pipelines_is_refused(cdc: Cdc, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    called = cdc("run", str(tmp_path))
    assert (called.code, "no file in it describes a pipeline" in called.stderr) == (2, True)


def test_limits_are_for_folders(cdc: Cdc, pipeline: Path) -> None:
    called = cdc("run", pipeline.name, "--once", "--memory", "1G")
    assert (called.code, "--restart and --memory are for the pipelines of one" in called.stderr) == (2, True)
    assert "should be a size such as 512M" in cdc("run", ".", "--memory", "lots").stderr


def test_which_begin_anew() -> None:
    answers = {
        restart: [
            Limits(restart).begins_anew(code, killed=killed)
            for code, killed in [(0, False), (2, False), (3, False), (0, True)]
        ]
        for restart in ("never", "on-failure", "always")
    }
    assert answers == {
        "never": [False] * 4,
        "on-failure": [False, False, True, True],
        "always": [True] * 4,
    }


def test_sizes_and_memory() -> None:
    assert [Size().convert(text, None, None) for text in ("1k", "512M", "2GiB", "700")] == [
        1024,
        512 << 20,
        2 << 30,
        700,
    ]
    assert 5 << 20 < resident(os.getpid()) < 64 << 30
    assert resident(2**22 + 1) == 0
