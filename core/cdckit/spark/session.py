"""The Spark session of a pipeline."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdckit.errors import ConfigError
from cdckit.spark.delta import delta_settings

LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.databricks.delta.snapshotPartitions": "2",
}
"""Settings for a session in this process alone: no network to the outside, small batches without ceremony."""

ALWAYS = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
    "spark.sql.streaming.noDataProgressEventInterval": "60000",
    "spark.sql.streaming.stopTimeout": "60000",
    "spark.scheduler.mode": "FAIR",
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.compress": "false",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
}

"""Settings for every session. Rows are packets of thousands of records here, compressed already, so few of them
make an Arrow batch."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

NO_JAVA = (
    "runner: spark needs Java 17 or newer, and none was found: install it (Debian and Ubuntu: "
    "`apt-get install openjdk-17-jre-headless`) or set JAVA_HOME; `runner: direct` needs none"
)


def start_session(name: str, settings: Mapping[str, str], *, delta: bool) -> SparkSession:
    """The session that a pipeline runs in; one that is already there in this process is used as it is.

    Args:
        name: shown in Spark's own lists.
        settings: the user's, stronger than the defaults here.
        delta: whether Delta tables are written.

    Raises:
        ConfigError: there is no Java, Spark does not start with these settings, or the session that is there cannot
            write Delta tables.
    """
    running = SparkSession.getActiveSession()
    if running is not None:
        return _fitting(running, delta=delta)
    require_java()
    handler = signal.getsignal(signal.SIGINT)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(f"cdckit {name}")
    for key, value in session_settings(settings, delta=delta).items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise ConfigError(
            f"spark: the session does not start ({str(error).strip().splitlines()[0]}); "
            "the lines above say why; check the Java version (17 or newer) and the settings under 'spark'"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)  # PySpark put its own there, which cancels what runs
    return session


def _fitting(running: SparkSession, *, delta: bool) -> SparkSession:
    if delta and "delta" not in str(running.conf.get("spark.sql.extensions", "")).lower():
        raise ConfigError(
            "sink.format: 'delta' needs Delta Lake in the Spark session that this process already has; start that "
            "with Delta's jars and `spark.sql.extensions`"
        )
    return running


def session_settings(settings: Mapping[str, str], *, delta: bool) -> dict[str, str]:
    """All settings of a session: defaults, Delta's, and the user's over both."""
    master = settings.get("spark.master", "local[*]")
    made = {"spark.master": master, **ALWAYS}
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        made |= LOCAL
        made["spark.sql.shuffle.partitions"] = str(_local_processors(master))
    if delta:
        made |= delta_settings(settings)
    made |= {key: value for key, value in settings.items() if key not in made or not key.startswith("spark.jars")}
    made[JAVA_OPTIONS] = " ".join(_java_options(settings.get(JAVA_OPTIONS, ""), local=master.startswith("local")))
    return made


def _java_options(given: str, *, local: bool) -> Iterator[str]:
    """The driver's: quiet logs, and the collector that costs least where packets are large and cores are few."""
    if "log4j" not in given:
        yield f"-Dlog4j2.configurationFile={files('cdckit.spark') / 'log4j2.properties'}"
    if local and "GC" not in given:
        yield "-XX:+UseParallelGC"
    if given:
        yield given


def require_java() -> None:
    """Looks for `java` where Spark does.

    Raises:
        ConfigError: there is none.
    """
    home = os.environ.get("JAVA_HOME")
    if not (Path(home) / "bin" / "java").exists() if home else shutil.which("java") is None:
        raise ConfigError(NO_JAVA)


def _local_processors(master: str) -> int:
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return int(inside) if inside.isdecimal() else (os.cpu_count() or 1 if inside == "*" else 1)
