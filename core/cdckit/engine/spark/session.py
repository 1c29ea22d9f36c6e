"""The Spark session of a pipeline."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from importlib.resources import files

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdckit.engine.config.requirements import SPECULATES, is_on
from cdckit.engine.spark.class_archive import archive_options
from cdckit.engine.spark.delta import SESSION, delta_package, delta_settings
from cdckit.engine.spark.gateway import forget_ended_java, start_java
from cdckit.engine.spark.given import given_outside
from cdckit.engine.spark.java import require_java
from cdckit.errors import ConfigError

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

"""Settings for every session that does not say otherwise. Rows are packets of thousands of records here, compressed
already, so few of them make an Arrow batch."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
"""The thorough compiler compiles what was run ten times as often as Java's own settings say: most of what a start runs
often enough for these is seldom run later, and takes a fifth of the start's processor time to be compiled."""

_COMPILER = ("Tier", "CompileThreshold", "-Xint", "-Xcomp")
"""Options of Java's that say when what is compiled."""


def start_session(name: str, settings: Mapping[str, str], *, delta: bool) -> SparkSession:
    """The session that a pipeline runs in; one that is already there in this process is used as it is.

    Args:
        name: shown in Spark's own lists.
        settings: the pipeline's, stronger than those of `spark-submit` and of Spark's files, which are stronger than
            the defaults here.
        delta: whether Delta tables are written.

    Raises:
        ConfigError: there is no Java, Spark does not start with these settings, or the session that is there cannot
            write Delta tables.
    """
    forget_ended_java()
    if SparkContext._active_spark_context is not None:
        return _fitting(SparkSession.builder.getOrCreate(), delta=delta)
    require_java()
    handler = signal.getsignal(signal.SIGINT)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given = given_outside()
    wanted = session_settings(name, settings, given.settings, delta=delta)
    start_java(wanted, given.arguments)
    if delta and given.submitted:
        _require_delta()
    try:
        session = SparkSession.builder.config(map={**wanted}).getOrCreate()
    except (PySparkException, Py4JError) as error:
        raise ConfigError(
            f"spark: the session does not start ({str(error).strip().splitlines()[0]}); "
            "the lines above say why; check the Java version (17 or newer) and the settings under 'spark'",
            number="CDC2306",
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)  # PySpark put its own there, which cancels what runs
    return session


def _fitting(running: SparkSession, *, delta: bool) -> SparkSession:
    if delta and "delta" not in str(running.conf.get("spark.sql.extensions", "")).lower():
        raise ConfigError(
            "sink.format: 'delta' needs Delta Lake in the Spark session that this process already has; start that "
            "with Delta's jars and `spark.sql.extensions`",
            number="CDC2305",
        )
    return running


def _require_delta() -> None:
    """Looks for Delta Lake in a JVM that runs already, which takes no more jars.

    Raises:
        ConfigError: it lacks.
    """
    jvm = SparkContext._jvm
    assert jvm is not None
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(SESSION["spark.sql.extensions"])
    except Py4JError:
        raise ConfigError(
            f"sink.format: 'delta' needs Delta Lake's jars: give spark-submit `--packages {delta_package()}`",
            number="CDC2305",
        ) from None


def refuse_speculation(session: SparkSession) -> None:
    """Looks whether Spark may run a second attempt of a task beside the first, both of which would write.

    Raises:
        ConfigError: it may, wherever that was set.
    """
    if is_on(session.sparkContext.getConf().get("spark.speculation", "false")):
        raise ConfigError(SPECULATES, number="CDC2402")


def session_settings(
    name: str, settings: Mapping[str, str], given: Mapping[str, str], *, delta: bool
) -> dict[str, str]:
    """All settings of a session: defaults, Delta's, those given from outside, and the pipeline's over all."""
    stronger = {**given, **settings}
    master = stronger.get("spark.master", "local[*]")
    made = {"spark.app.name": f"cdckit {name}", "spark.master": master, **ALWAYS}
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        made |= LOCAL
        made["spark.sql.shuffle.partitions"] = str(_local_processors(master))
    added = delta_settings(stronger) if delta else {}
    made |= {**stronger, **_with_delta(added, stronger)}
    made[JAVA_OPTIONS] = " ".join(_java_options(stronger.get(JAVA_OPTIONS, ""), local=master.startswith("local")))
    return made


def _with_delta(added: Mapping[str, str], stronger: Mapping[str, str]) -> dict[str, str]:
    """What Delta adds: jars beside the user's own, and what the user has not set."""
    return {key: value for key, value in added.items() if key.startswith("spark.jars") or key not in stronger}


def _java_options(given: str, *, local: bool) -> Iterator[str]:
    """The driver's: quiet logs, and the collector that costs least where packets are large and cores are few."""
    if "log4j" not in given:
        yield f"-Dlog4j2.configurationFile={files('cdckit.engine.spark') / 'log4j2.properties'}"
    if local:
        yield from _local_options(given)
    if given:
        yield given


def _local_options(given: str) -> Iterator[str]:
    if "GC" not in given:
        yield "-XX:+UseParallelGC"
    if "MetaspaceSize" not in given:
        yield "-XX:MetaspaceSize=256m"  # else Java collects all garbage again and again while it loads classes
    if not any(word in given for word in _COMPILER):
        yield LATE_COMPILER
    yield from archive_options(given)


def _local_processors(master: str) -> int:
    inside = master.partition("[")[2].partition("]")[0].partition(",")[0]
    return int(inside) if inside.isdecimal() else (os.cpu_count() or 1 if inside == "*" else 1)
