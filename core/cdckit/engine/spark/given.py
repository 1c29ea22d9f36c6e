"""The settings that a session is given from outside the pipeline: by `spark-submit`, the environment, Spark's files."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import javaproperties
from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""The variable with the arguments that PySpark starts the JVM with."""

_SHELL = "pyspark-shell"
_SETTINGS_OF = {
    "--master": "spark.master",
    "--deploy-mode": "spark.submit.deployMode",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
    "--driver-java-options": "spark.driver.extraJavaOptions",
    "--driver-class-path": "spark.driver.extraClassPath",
    "--driver-library-path": "spark.driver.extraLibraryPath",
    "--driver-cores": "spark.driver.cores",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--total-executor-cores": "spark.cores.max",
    "--num-executors": "spark.executor.instances",
    "--jars": "spark.jars",
    "--packages": "spark.jars.packages",
    "--exclude-packages": "spark.jars.excludes",
    "--repositories": "spark.jars.repositories",
    "--py-files": "spark.submit.pyFiles",
    "--files": "spark.files",
    "--archives": "spark.archives",
    "--queue": "spark.yarn.queue",
}
"""Arguments of `spark-submit` that say what a setting says."""
_NO_NAMES = frozenset({"cdc", "cdckit", _SHELL, "__main__.py"})
"""What an application is called where nobody named it."""


@dataclass(frozen=True, slots=True)
class Given:
    """What is given.

    Attributes:
        settings: by name.
        arguments: those of `spark-submit` that no setting stands for.
        submitted: whether `spark-submit` has started this process, and the JVM before it.
    """

    settings: dict[str, str]
    arguments: tuple[str, ...] = (_SHELL,)
    submitted: bool = False


def given_outside() -> Given:
    """What this process was given."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        SparkContext._ensure_initialized()
        return Given(_named(dict(SparkConf(_jvm=SparkContext._jvm).getAll())), submitted=True)
    settings, arguments = _parsed(shlex.split(os.environ.get(ARGUMENTS, "")))
    return Given(_named({**_defaults(arguments), **settings}), (*arguments, _SHELL))


def _named(settings: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in settings.items() if key != "spark.app.name" or value not in _NO_NAMES}


def _parsed(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The settings that arguments of `spark-submit` make, and the other arguments."""
    settings: dict[str, str] = {}
    stronger: dict[str, str] = {}
    others: list[str] = []
    left = iter(arguments)
    for argument in left:
        name, equals, value = argument.partition("=")
        if name in ("--conf", "-c"):
            key, _, text = (value if equals else next(left, "")).partition("=")
            settings[key] = text
        elif name in _SETTINGS_OF:
            stronger[_SETTINGS_OF[name]] = value if equals else next(left, "")
        elif argument != _SHELL:
            others.append(argument)
    return {**settings, **stronger}, others


def _defaults(arguments: list[str]) -> dict[str, str]:
    """The file of defaults that Spark would read; `--properties-file` names another one."""
    folder = os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf"
    path = next(_values(arguments, "--properties-file"), None) or Path(folder) / "spark-defaults.conf"
    try:
        found = javaproperties.loads(Path(path).read_text(encoding="utf-8"))
    except OSError:
        return {}
    return {key: value.strip() for key, value in found.items() if key.startswith("spark.")}


def _values(arguments: list[str], name: str) -> Iterator[str]:
    for place, argument in enumerate(arguments):
        if argument == name:
            yield from arguments[place + 1 : place + 2]
        elif argument.startswith(f"{name}="):
            yield argument.partition("=")[2]
