"""What `make spark-matrix` installs for each release of Spark."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cdckit.engine.spark.delta import VERIFIED
from cdckit.engine.spark.release import delta_artifact
from testkit.matrix import ROOT
from testkit.spark_matrix import CORE, RELEASES, SparkCell, locked

LOCK = "delta-spark==4.4.0\npyspark==4.2.0\n    # via delta-spark\npyspark-extra==1.0\n"


def test_a_release_has_its_own_pyspark_and_all_else_as_locked() -> None:
    assert locked(LOCK, "4.0") == LOCK.replace("pyspark==4.2.0", "pyspark==4.0.*")
    assert locked(LOCK, "4.2") == LOCK


def test_an_environment_need_not_be_there(tmp_path: Path) -> None:
    made, _ = SparkCell("4.0")._installed(tmp_path / "spark" / "4.0")
    assert "pyspark==4.0.*" in Path(made[-1]).read_text()


@pytest.mark.parametrize("release", RELEASES)
def test_each_release_has_an_extra_and_a_line_in_the_docs(release: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras[f"spark{release.replace('.', '')}"] == ["cdckit[spark]", f"pyspark=={release}.*"]
    jar = f"`io.delta:{delta_artifact(release, VERIFIED)}:{VERIFIED}`"
    lines = (ROOT / "docs" / "spark.md").read_text().splitlines()
    [line] = [line for line in lines if line.startswith(f"| {release} |")]
    assert jar in line


def test_the_core_is_there() -> None:
    assert [name for name in CORE if not (ROOT / name).exists()] == []
