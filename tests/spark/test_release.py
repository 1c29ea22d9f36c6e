"""Which releases of Spark will do, and what those are told that do not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cdckit.engine.spark.delta import delta_settings
from cdckit.engine.spark.release import delta_artifact, installed, refused

RELEASES = ("4.0", "4.1", "4.2")


def bring(folder: Path, release: str, *, zipped: bool = False) -> Path:
    """A PySpark of a release as far as its version goes, as a platform puts it on the path."""
    files = {"pyspark/__init__.py": "", "pyspark/version.py": f'__version__: str = "{release}"\n'}
    if zipped:
        with zipfile.ZipFile(folder / "pyspark.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return folder / "pyspark.zip"
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("zipped", [False, True])
def test_the_release_is_known_without_the_metadata_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, zipped: bool
) -> None:
    monkeypatch.syspath_prepend(bring(tmp_path, "3.5.1+amzn-0", zipped=zipped))
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    assert installed() == "3.5.1+amzn-0"


@pytest.mark.parametrize("release", ["3.4.4", "3.5.8", "3.5.1+amzn-0"])
def test_older_ones_are_refused_by_name(release: str) -> None:
    problem = refused(release)
    assert problem is not None
    assert f"pyspark {release} is installed" in problem
    assert problem.number == "CDC2307"


@pytest.mark.parametrize("release", [*(f"{one}.1" for one in RELEASES), "4.0.0.dev1", "4.10.0", None])
def test_newer_ones_are_not(release: str | None) -> None:
    assert refused(release) is None


def test_a_pipeline_names_the_release_that_is_too_old(tmp_path: Path) -> None:
    source = {"type": "mysql", "topic.prefix": "p", "database.hostname": "h", "database.user": "u"}
    pipeline = {"name": "p", "runner": "spark", "source": source, "sink": {"type": "stdout"}}
    (tmp_path / "p.yaml").write_text(json.dumps(pipeline))
    ended = _python(bring(tmp_path / "site", "3.5.8"), tmp_path, "-m", "cdckit", "run", "p.yaml", "--once")
    assert ended.returncode == 2, ended.stderr
    assert "runner: 'spark' needs Spark 4.0 or newer, and pyspark 3.5.8 is installed" in ended.stderr


def test_a_job_of_ones_own_is_told_as_well(tmp_path: Path) -> None:
    ended = _python(bring(tmp_path, "3.5.8"), tmp_path, "-c", "import cdckit.spark")
    assert "ConfigError: runner: 'spark' needs Spark 4.0 or newer, and pyspark 3.5.8" in ended.stderr


def _python(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, check=False, cwd=folder, env=variables, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    ("spark", "delta", "artifact"),
    [
        ("4.0.0", "4.0.1", "delta-spark_2.13"),
        *((f"{one}.0", "4.4.0", f"delta-spark_{one}_2.13") for one in RELEASES),
        ("4.1.2+platform-3", "4.1.0", "delta-spark_4.1_2.13"),
    ],
)
def test_each_release_has_its_own_jar_of_delta(spark: str, delta: str, artifact: str) -> None:
    assert delta_artifact(spark, delta) == artifact


@pytest.mark.parametrize("spark", RELEASES)
def test_jars_for_another_release_are_left_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spark: str
) -> None:
    monkeypatch.setattr("pyspark.__version__", f"{spark}.1")
    monkeypatch.setattr("cdckit.engine.spark.delta.version", lambda _name: "4.4.0")
    (tmp_path / "jars").mkdir()
    shared = ["io.delta_delta-storage-4.4.0.jar", "io.delta_delta-kernel-api-4.4.0.jar"]
    for name in (*shared, *(f"io.delta_delta-spark_{one}_2.13-4.4.0.jar" for one in RELEASES)):
        (tmp_path / "jars" / name).touch()
    taken = delta_settings({"spark.jars.ivy": str(tmp_path)})["spark.jars"].split(",")
    assert {Path(jar).name for jar in taken} == {*shared, f"io.delta_delta-spark_{spark}_2.13-4.4.0.jar"}
