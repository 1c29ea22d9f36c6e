"""What `.ci/run` says of tests that fail once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci" / "run"
TESTS = """
from pathlib import Path

def test_sound():
    pass

def test_flaky():
    seen = Path("seen")
    first, _ = not seen.exists(), seen.touch()
    assert not first

def test_broken():
    assert not Path("broken").exists()
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of three tests with the same script."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(CI, tmp_path / ".ci" / "run")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "Makefile").write_text("test:\n\t.venv/bin/python -m pytest\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    return tmp_path


def _run(project: Path) -> tuple[int, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "PYTEST_"))}
    ended = subprocess.run(["bash", ".ci/run"], cwd=project, env=own, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout


def test_what_passes_on_the_second_try_is_named(project: Path) -> None:
    code, out = _run(project)
    assert code == 0
    assert out.endswith("\nfailed once, and passed on the second try:\ntest_it.py::test_flaky\n")
    code, out = _run(project)
    assert (code, "failed once" in out) == (0, False)


def test_what_fails_twice_fails_the_run(project: Path) -> None:
    (project / "broken").touch()
    code, out = _run(project)
    assert code == 1
    assert out.endswith("\nfailed once, and passed on the second try:\ntest_it.py::test_flaky\n")


def test_a_run_that_did_not_come_to_the_tests_fails(project: Path) -> None:
    assert _run(project)[0] == 0
    (project / "Makefile").write_text("test:\n\tfalse\n")
    assert _run(project) == (1, "false\n")
