"""The installed command as a program, with the scripted plugin beside those that are installed."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.plugins import broken_plugins, plugin_manager
from cdckit.cli.main import call
from testkit.installed import install_plugin
from testkit.servers.process import bound_to_parent
from testkit.warm_command.starting import call_command

ROOT = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).parent / "cdc"


@dataclass(frozen=True, slots=True)
class Called:
    """What a call of the program left: its exit code, what it printed, what it logged."""

    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[Any]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def logs(self) -> list[dict[str, Any]]:
        """Standard error as JSON lines."""
        return [json.loads(line) for line in self.stderr.splitlines()]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of the program, in which the scripted plugin is installed."""
    installed = tmp_path / "installed"
    install_plugin(installed, "scripted", "testkit.scripted.plugin")
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{installed}", "TERM": "dumb"}


@pytest.fixture
def program(tmp_path: Path, environment: dict[str, str]) -> Callable[..., Called]:
    """Calls the program in the test's folder."""

    def run(*arguments: str, **variables: str) -> Called:
        done = call_command(arguments, folder=tmp_path, environment=environment | variables)
        return Called(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def cdc(
    tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., Called]]:
    """Calls the command in the test's folder and in this process: many times faster than the program."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path / "installed"))
    _forget_plugins()

    def run(*arguments: str, stdin: str = "", **variables: str) -> Called:
        with monkeypatch.context() as during:
            during.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            for name, value in variables.items():
                during.setenv(name, value)
            code = call(arguments)
        return Called(code, *capfd.readouterr())

    yield run
    _forget_plugins()


def _forget_plugins() -> None:
    plugin_manager.cache_clear()
    broken_plugins.cache_clear()


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Callable[..., subprocess.Popen[str]]:
    """Starts the program in the test's folder, and leaves it running."""

    def begin(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAM, *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=bound_to_parent(),  # noqa: PLW1509 - it makes system calls only
        )

    return begin


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    """A pipeline file of the scripted source: three records to standard output."""
    write_script(tmp_path, {"n": 1}, {"n": 2}, {"n": 3})
    path = tmp_path / "pipeline.yaml"
    path.write_text(
        "runner: direct\nserializer: {schemas.enable: false}\n"
        "source: {type: scripted, script: script.jsonl, password: hunter2}\n"
    )
    return path


def write_script(folder: Path, *lines: dict[str, Any]) -> None:
    """The lines that the scripted source plays."""
    (folder / "script.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
