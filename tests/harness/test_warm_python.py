"""What Spark is given in the place of Python: it does what Python does, and nothing of it stays."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from testkit.servers.process import halt
from testkit.warm_python.starting import warm_python

PATIENCE = 30
MODULE = """
import json, os, resource, sys
told = {
    "arguments": sys.argv[1:],
    "folder": os.getcwd(),
    "variables": {**os.environ},
    "path": sys.path[:2],
    "input": sys.stdin.read(),
    "warm": "pyspark.worker" in sys.modules,
    "open": sorted(os.listdir("/proc/self/fd"))[:-1],
    "threads": len(os.listdir("/proc/self/task")),
    "cores": resource.getrlimit(resource.RLIMIT_CORE),
    "main": __name__,
}
print(json.dumps(told))
print("in vain", file=sys.stderr)
sys.exit(7)
"""
FORKING = """
import os, time
print(os.getpid(), flush=True)
child = os.fork()
if child:
    print(child, flush=True)
time.sleep(600)
"""
STARTER = """
import subprocess, sys
from testkit.warm_python.starting import warm_python
subprocess.run([warm_python(), "-m", "forking"])
"""


@pytest.fixture
def modules(tmp_path: Path) -> Path:
    """A folder with modules to run."""
    (tmp_path / "telling.py").write_text(MODULE)
    (tmp_path / "forking.py").write_text(FORKING)
    (tmp_path / "ended.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")
    return tmp_path


def variables(modules: Path, **others: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "_"))}
    return {**kept, "PYTHONPATH": str(modules), "PYTHONHASHSEED": "0", **others}


def called(modules: Path, *arguments: str, **others: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [warm_python(), *arguments],
        input="said",
        env=variables(modules, **others),
        cwd=modules,
        preexec_fn=_without_cores,
        capture_output=True,
        text=True,
        check=False,
    )


def _without_cores() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def told(ended: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert ended.returncode == 7, ended
    found: dict[str, object] = json.loads(ended.stdout)
    return found


def test_it_is_the_callers_process(modules: Path) -> None:
    ended = called(modules, "-m", "telling", "-x", "a b", "", CDCKIT_SAID="a=b\nc")
    found = told(ended)
    inherited = found.pop("variables")
    assert found == {
        "arguments": ["-x", "a b", ""],
        "folder": str(modules),
        "path": [str(modules), str(modules)],
        "input": "said",
        "warm": True,
        "open": ["0", "1", "2"],
        "threads": 1,
        "cores": [0, 0],
        "main": "__main__",
    }
    assert inherited == variables(modules, CDCKIT_SAID="a=b\nc")
    assert ended.stderr == "in vain\n"


def test_one_call_leaves_nothing_to_the_next(modules: Path) -> None:
    told(called(modules, "-m", "telling", CDCKIT_SAID="once"))
    assert "CDCKIT_SAID" not in str(told(called(modules, "-m", "telling")))


def test_it_ends_by_a_signal_as_a_shell_tells_it(modules: Path) -> None:
    assert called(modules, "-m", "ended").returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("how", ["hash", "copy", "file"])
def test_what_a_fork_could_not_do_python_does(modules: Path, how: str) -> None:
    others = {}
    if how == "hash":
        others = {"PYTHONHASHSEED": "5"}
    elif how == "copy":
        (modules / "cdckit").mkdir()
    found = _into_file(modules) if how == "file" else told(called(modules, "-m", "telling", **others))
    assert found["warm"] is False
    assert found["input"] == "said"


def _into_file(modules: Path) -> dict[str, object]:
    with (modules / "out").open("w+") as out:
        command: list[str | Path] = [warm_python(), "-m", "telling"]
        subprocess.run(command, input=b"said", env=variables(modules), stdout=out, check=False)
    found: dict[str, object] = json.loads((modules / "out").read_text())
    return found


def test_a_program_on_the_command_line_is_pythons(modules: Path) -> None:
    ended = called(modules, "-c", "import sys; print(sys.executable, sys.stdin.read())")
    assert ended.stdout.split() == [sys.executable, "said"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_it_takes_along_what_it_has_forked(modules: Path, number: signal.Signals) -> None:
    process = _forking([warm_python(), "-m", "forking"], modules)
    pids = _told_pids(process)
    assert process.pid not in pids
    process.send_signal(number)
    assert_end(*pids)
    process.communicate()


def test_a_fork_that_ends_together_with_its_caller_leaves_the_others_alone(modules: Path) -> None:
    process = _forking([warm_python(), "-m", "forking"], modules)
    pids = _told_pids(process)
    warm = psutil.Process(pids[0]).parent()
    assert warm is not None
    halt(warm.pid)
    os.kill(pids[0], signal.SIGKILL)
    assert_end(pids[0])
    process.kill()
    process.wait()
    warm.resume()
    assert_end(*pids)
    process.communicate()
    assert told(called(modules, "-m", "telling"))["warm"] is True


def test_nothing_outlives_the_tests_process_though_that_is_killed(modules: Path) -> None:
    process = _forking([sys.executable, "-c", STARTER], modules)
    pids = _told_pids(process)
    script_and_warm = [child.pid for child in psutil.Process(process.pid).children()]
    process.kill()
    assert_end(pids[0], *script_and_warm)
    os.kill(pids[1], signal.SIGKILL)  # as a worker of Spark's it would end with Java's side of its connection
    process.communicate()


def _forking(command: list[str | Path], modules: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(modules), str(Path(__file__).parents[2])])
    environment = variables(modules, PYTHONPATH=path)
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def _told_pids(process: subprocess.Popen[str]) -> list[int]:
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    assert all(map(psutil.pid_exists, pids))
    return pids


def assert_end(*pids: int) -> None:
    deadline = time.monotonic() + PATIENCE
    for pid in pids:
        while not gone(pid):
            assert time.monotonic() < deadline, f"process {pid} is left"
            time.sleep(0.02)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
