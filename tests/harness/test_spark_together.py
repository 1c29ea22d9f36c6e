"""Tests of the shared Spark session are the first worker's, and the others' files are dealt out as ever."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = """
import os, time
from testkit.spark_together import make_scheduler as pytest_xdist_make_scheduler

if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
    time.sleep(1)  # the last one to be ready

def pytest_addoption(parser):
    parser.addoption("--nightly", action="store_true")
"""
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    workers = pathlib.Path(__file__).with_suffix(".workers")
    with workers.open("a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


@pytest.mark.parametrize(("arguments", "together"), [((), True), (("--nightly",), False)])
def test_one_worker_has_them(tmp_path: Path, arguments: tuple[str, ...], together: bool) -> None:
    files = [tmp_path / "tests" / folder / f"test_{name}.py" for folder in ("spark", "core") for name in "abc"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    options = ("-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "--rootdir", ".")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    variables = {**own, "PYTHONPATH": str(ROOT)}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--import-mode=importlib",
        *options,
        *arguments,
        "tests/spark",
        "tests/core",
    ]
    ran = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert "24 passed" in ran.stdout, ran.stdout
    workers = [set(file.with_suffix(".workers").read_text().split()) for file in files]
    assert [len(found) for found in workers] == [1] * len(files)
    assert (set.union(*workers[:3]) == {"gw0"}) == together
    assert len(set.union(*workers)) == 2
