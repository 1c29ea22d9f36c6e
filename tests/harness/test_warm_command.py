"""Calls of the command that are forks: they do what Python does that starts anew, and nothing of them stays."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import psutil
import pytest

from harness.test_warm_python import assert_end
from testkit.installed import install_plugin
from testkit.warm_command.process import Forked, Process
from testkit.warm_command.starting import call_command, forked_calls, start_command

COMMANDS = """
import json, os, sys, time
import click

@click.command()
@click.argument("words", nargs=-1)
def telling(words):
    told = {
        "words": words,
        "folder": os.getcwd(),
        "variables": {**os.environ},
        "path": sys.path[:2],
        "input": sys.stdin.read(),
        "forked": sys.argv[0] == "cdc",
        "open": sorted(os.listdir("/proc/self/fd"))[:-1],
        "threads": len(os.listdir("/proc/self/task")),
    }
    print(json.dumps(told))
    print("in vain", file=sys.stderr)
    sys.exit(7)

@click.command()
def waiting():
    print("begins", flush=True)
    time.sleep(600)

@click.command()
def failing():
    raise ValueError("of no use")
"""
PLUGIN = """
import cdckit
import said_commands

@cdckit.hookimpl
def cdckit_commands():
    return [said_commands.telling, said_commands.waiting, said_commands.failing]
"""
STARTER = """
import os, sys
from pathlib import Path
from testkit.warm_command.starting import forked_calls, start_command
with forked_calls(wanted=True):
    process = start_command(
        ["waiting"], sys.stdout, sys.stderr, folder=Path.cwd(), environment={**os.environ}
    )
    process.wait()
"""


@pytest.fixture(autouse=True)
def forked() -> Iterator[None]:
    """Has calls be forks, in the long series too."""
    with forked_calls(wanted=True):
        yield


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """An environment in which commands of a plugin are installed."""
    installed = tmp_path / "installed"
    install_plugin(installed, "said", "said_plugin")
    (installed / "said_commands.py").write_text(COMMANDS)
    (installed / "said_plugin.py").write_text(PLUGIN)
    return {**os.environ, "PYTHONPATH": str(installed)}


def told(folder: Path, environment: Mapping[str, str], *words: str) -> dict[str, Any]:
    ended = call_command(["telling", *words], folder=folder, environment=environment)
    assert ended.returncode == 7, ended
    assert ended.stderr == "in vain\n"
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_it_is_the_callers_process(tmp_path: Path, variables: dict[str, str]) -> None:
    found = told(tmp_path, {**variables, "CDCKIT_SAID": "a=b\nc"}, "a b", "")
    assert found.pop("variables") == {**variables, "CDCKIT_SAID": "a=b\nc"}
    assert found == {
        "words": ["a b", ""],
        "folder": str(tmp_path),
        "path": [str(tmp_path), str(tmp_path / "installed")],
        "input": "",
        "forked": True,
        "open": ["0", "1", "2"],
        "threads": 1,
    }
    assert "CDCKIT_SAID" not in told(tmp_path, variables)["variables"]


@pytest.mark.parametrize("how", ["hash", "copy", "at start", "allocator"])
def test_what_a_fork_could_not_do_python_does(tmp_path: Path, variables: dict[str, str], how: str) -> None:
    if how == "hash":
        variables["PYTHONHASHSEED"] = "5"
    elif how == "copy":
        (tmp_path / "installed" / "yaml").symlink_to(Path(sys.modules["yaml"].__path__[0]))
    elif how == "at start":
        (tmp_path / "installed" / "sitecustomize.py").touch()
    else:
        variables["MALLOC_ARENA_MAX"] = "3"
    assert told(tmp_path, variables)["forked"] is False


def test_it_is_python_where_that_is_wanted(tmp_path: Path, variables: dict[str, str]) -> None:
    with forked_calls(wanted=False):
        assert told(tmp_path, variables)["forked"] is False


def test_an_error_ends_it_as_it_ends_python(tmp_path: Path, variables: dict[str, str]) -> None:
    forked = call_command(["failing"], folder=tmp_path, environment=variables)
    with forked_calls(wanted=False):
        ended = call_command(["failing"], folder=tmp_path, environment=variables)
    assert (forked.returncode, forked.stdout, forked.stderr) == (ended.returncode, ended.stdout, ended.stderr)
    assert "of no use" in ended.stderr


def test_calls_that_end_at_once_tell_how(tmp_path: Path, variables: dict[str, str]) -> None:
    codes = [call_command(["nothing"], folder=tmp_path, environment=variables).returncode for _ in range(20)]
    assert codes == [2] * 20


@pytest.mark.parametrize("limit", [None, lambda: None])
def test_it_ends_by_signals(tmp_path: Path, variables: dict[str, str], limit: Callable[[], None] | None) -> None:
    with TemporaryFile() as out:
        process = start_command(["waiting"], out, out, folder=tmp_path, environment=variables, limit=limit)
        assert isinstance(process, Forked) is (limit is None)
        _begins(process, out)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        assert process.poll() is process.returncode is None
        process.send_signal(signal.SIGTERM)
        assert process.wait() == process.poll() == process.returncode == -signal.SIGTERM
        process.kill()  # does nothing


def _begins(process: Process, out: IO[bytes]) -> None:
    while not out.read():
        assert process.poll() is None
        time.sleep(0.02)
        out.seek(0)


def test_nothing_outlives_the_tests_process_though_that_is_killed(tmp_path: Path, variables: dict[str, str]) -> None:
    variables["PYTHONPATH"] += os.pathsep + str(Path(__file__).parents[2])
    command = [sys.executable, "-c", STARTER]
    with subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begins\n"
        children = _descendants(process.pid)
        assert len(children) == 2
        process.kill()
        assert_end(*children)


def _descendants(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]
