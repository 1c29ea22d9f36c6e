"""Which PySpark the Python processes of a session on this machine load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from cdckit.engine.spark.home import without_archives
from spark.conftest import FAST_JVM

LOADED = """
import json, sys
import pyarrow as pa, pyspark
from cdckit.engine.spark.session import start_session

def loaded(_):
    import pyspark
    yield pa.RecordBatch.from_pydict({"file": [pyspark.__file__]})

session = start_session("home", json.loads(sys.argv[1]), delta=False)
print(*(row.file for row in session.range(1).mapInArrow(loaded, "file string").collect()))
"""


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nobody says where Spark and Python are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)


@pytest.mark.spark
@pytest.mark.real_python
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("plain")
def test_workers_load_what_the_driver_loads(tmp_path: Path) -> None:
    program = tmp_path / "loaded.py"
    program.write_text(LOADED)
    settings = {"spark.master": "local[1]", **FAST_JVM}
    command = [sys.executable, str(program), json.dumps(settings)]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-1] == pyspark.__file__


@pytest.mark.usefixtures("plain")
def test_the_home_has_all_but_the_archives(tmp_path: Path) -> None:
    installed = Path(pyspark.__file__).parent
    for _ in range(2):
        with without_archives(local=True):
            home = Path(os.environ["SPARK_HOME"])
            found = {entry.name: entry.resolve() for entry in home.iterdir()}
        assert found == {entry.name: entry.resolve() for entry in installed.iterdir() if entry.name != "python"}
        assert "SPARK_HOME" not in os.environ
    assert [folder.name for folder in (tmp_path / "caches" / "cdckit").iterdir()] == [home.name]


@pytest.mark.usefixtures("plain")
def test_where_there_can_be_no_folder_spark_finds_its_own(tmp_path: Path) -> None:
    (tmp_path / "caches").write_text("a file")
    with without_archives(local=True):
        assert "SPARK_HOME" not in os.environ


@pytest.mark.parametrize(
    ("local", "said"),
    [
        pytest.param(False, {}, id="a cluster"),
        pytest.param(True, {"SPARK_HOME": "/opt/spark"}, id="another Spark"),
        pytest.param(True, {"PYSPARK_PYTHON": "/opt/python"}, id="another Python"),
    ],
)
@pytest.mark.usefixtures("plain")
def test_what_is_said_of_spark_and_python_holds(
    monkeypatch: pytest.MonkeyPatch, local: bool, said: dict[str, str]
) -> None:
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    with without_archives(local=local):
        assert os.environ.get("SPARK_HOME") == said.get("SPARK_HOME")
    assert os.environ.get("SPARK_HOME") == said.get("SPARK_HOME")


def test_who_writes_tables_loads_no_pandas() -> None:
    code = "import sys, cdckit_spark.sink; sys.exit('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
