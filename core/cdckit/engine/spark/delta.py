"""Delta Lake's jars and settings for a Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pyspark

from cdckit.engine.spark.release import delta_artifact
from cdckit.errors import ConfigError

VERIFIED = "4.4.0"
"""The release that the tests run with, on each release of Spark. A package's jar has the same number, and is not there
for every package."""

SESSION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

NAMING_JARS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")
"""The settings by which a user brings Delta's jars."""

SPARK_BRINGS = (
    "com.fasterxml.jackson.core:*",
    "com.fasterxml.jackson.datatype:*",
    "com.github.luben:*",
    "commons-logging:*",
    "commons-pool:*",
    "io.airlift:*",
    "javax.annotation:*",
    "org.apache.hadoop:*",
    "org.apache.logging.log4j:*",
    "org.apache.parquet:*",
    "org.locationtech.jts:*",
    "org.roaringbitmap:*",
    "org.slf4j:*",
    "org.xerial.snappy:*",
    "com.google.code.findbugs:*",
)
"""What Delta's POM asks for and every Spark has already."""


def delta_settings(given: Mapping[str, str]) -> dict[str, str]:
    """What a session with the settings `given` still needs for Delta tables.

    Jars that are named by the user win; else those that an earlier run fetched are taken as they are, without network;
    else Spark fetches them from Maven Central (`spark.jars.packages`).

    Raises:
        ConfigError: the package `delta-spark` is not installed.
    """
    if any("delta-spark" in given.get(name, "") for name in NAMING_JARS):
        return dict(SESSION)
    artifact, release = _artifact()
    fetched = _fetched(Path(given.get("spark.jars.ivy", "~/.ivy2.5.2")).expanduser() / "jars", artifact, release)
    if fetched:
        return {**SESSION, "spark.jars": _joined(given, "spark.jars", fetched)}
    return {
        **SESSION,
        "spark.jars.packages": _joined(given, "spark.jars.packages", [delta_package()]),
        "spark.jars.excludes": _joined(given, "spark.jars.excludes", list(SPARK_BRINGS)),
    }


def delta_package() -> str:
    """Delta's jar, as `spark.jars.packages` names it.

    Raises:
        ConfigError: the package `delta-spark` is not installed.
    """
    return "io.delta:{}:{}".format(*_artifact())


def _artifact() -> tuple[str, str]:
    try:
        release = version("delta-spark")
        return delta_artifact(pyspark.__version__, release), release
    except PackageNotFoundError:
        raise ConfigError(
            "sink.format: 'delta' needs the package delta-spark, which is not installed: pip install 'cdckit[spark]'",
            number="CDC2301",
        ) from None


def _fetched(jars: Path, artifact: str, release: str) -> list[str]:
    own = jars / f"io.delta_{artifact}-{release}.jar"
    if not own.exists():
        return []
    # The folder may hold the jars for other releases of Spark as well, of which one session takes no two.
    others = [jar for jar in jars.glob(f"io.delta_*-{release}.jar") if not jar.name.startswith("io.delta_delta-spark_")]
    catalog = jars.glob("io.unitycatalog_*.jar") if any("unitycatalog" in jar.name for jar in others) else ()
    return sorted(map(str, (own, *others, *catalog)))


def _joined(given: Mapping[str, str], name: str, more: list[str]) -> str:
    return ",".join([*filter(None, [given.get(name, "")]), *more])
