"""Tests of the shared Spark session are the first worker's, and the others' files are dealt out as ever."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from testkit.spark_together import _LONG, turn

ROOT = Path(__file__).parents[2]
CONFTEST = """
import os, pytest, time
from testkit.spark_together import make_scheduler as pytest_xdist_make_scheduler, refuse_session

if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
    time.sleep(1)  # the last one to be ready

def pytest_addoption(parser):
    parser.addoption("--nightly", action="store_true")

@pytest.fixture(autouse=True)
def no_session_apart(request):
    refuse_session(request)

@pytest.fixture(scope="session")
def session():
    return "that of Spark"
"""
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_it(number):
    workers = pathlib.Path(__file__).with_suffix(".workers")
    with workers.open("a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


ASKS = """
def test_it(session):
    pass
"""


@pytest.mark.parametrize(("arguments", "together"), [((), True), (("--nightly",), False)])
def test_one_worker_has_them(tmp_path: Path, arguments: tuple[str, ...], together: bool) -> None:
    names = [*(f"spark/test_{name}.py" for name in "abc"), *(f"core/test_{name}.py" for name in "abc")]
    files = _written(tmp_path, dict.fromkeys(names, TESTS))
    ran = _tests(tmp_path, *arguments, "tests/spark", "tests/core")
    assert "24 passed" in ran.stdout, ran.stdout
    workers = _workers(files)
    assert [len(found) for found in workers] == [1] * len(files)
    assert (set.union(*workers[:3]) == {"gw0"}) == together
    assert len(set.union(*workers)) == 2


def test_files_that_do_without_the_session_are_dealt_out_as_others(tmp_path: Path) -> None:
    files = _written(tmp_path, dict.fromkeys(("spark/test_a.py", "spark/test_pipelines.py"), TESTS))
    ran = _tests(tmp_path, "tests/spark")
    assert "8 passed" in ran.stdout, ran.stdout
    assert _workers(files) == [{"gw0"}, {"gw1"}]


def test_files_that_are_said_to_do_without_are_held_to_it(tmp_path: Path) -> None:
    _written(tmp_path, dict.fromkeys(("spark/test_a.py", "spark/test_pipelines.py"), ASKS))
    ran = _tests(tmp_path, "tests/spark")
    assert "1 passed" in ran.stdout, ran.stdout
    assert "tests/spark/test_pipelines.py stands in testkit/spark_together.py" in ran.stdout


def test_long_files_do_not_come_last() -> None:
    files = ["tests/core/test_a.py", "tests/spark/test_a.py", "tests/spark/test_cluster.py", *sorted(_LONG)]
    order = sorted((f"{file}::test_it" for file in files), key=turn)
    assert order[0] == "tests/spark/test_a.py::test_it"
    assert {test.partition("::")[0] for test in order[1:-2]} == _LONG
    assert all((ROOT / file).exists() for file in _LONG)


def _written(folder: Path, tests: Mapping[str, str]) -> list[Path]:
    """Files of tests, and what they need."""
    (folder / "conftest.py").write_text(CONFTEST)
    files = {folder / "tests" / name: text for name, text in tests.items()}
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return [*files]


def _workers(files: Sequence[Path]) -> list[set[str]]:
    """By which workers each file's tests were run."""
    return [set(file.with_suffix(".workers").read_text().split()) for file in files]


def _tests(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ("-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", "--rootdir", ".")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    variables = {**own, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "--import-mode=importlib", *options, *arguments]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
