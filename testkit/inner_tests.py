"""Tests that are played by a pytest of their own, for tests of what the tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[1]


def played(folder: Path, conftest: str, tests: str, *arguments: str) -> tuple[dict[str, str], str]:
    """The verdict on each test, such as PASSED, by the test's name; and all that pytest printed.

    Args:
        folder: where it runs; empty.
        conftest: the text of its conftest.py.
        tests: the text of its tests.
        arguments: more of pytest's.
    """
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_it.py").write_text(tests)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    variables = {**own, "PYTHONPATH": f"{_ROOT}{os.pathsep}{_ROOT / 'tests'}"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments, "-v", str(folder)]
    out = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False).stdout
    told = (line.split("::")[1].split() for line in out.splitlines() if line.startswith("test_it.py::"))
    return {words[0]: words[1] for words in told if len(words) > 1}, out  # xdist tells of a test before it has begun
