"""Java for Spark in short runs: the simple compiler, and classes that were parsed once (Java's class data sharing).

A JVM that starts Spark and runs a first job takes 12 s of a processor with Java's own settings, 7 s with the simple
compiler, and 3 s with the archive of classes, which belongs to one installation of PySpark.
"""

from __future__ import annotations

import fcntl
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from testkit.servers.process import run

_CODE_CACHE = "-XX:ReservedCodeCacheSize=240m"
"""The simple compiler alone has 48 MB, which a session of many tests fills: Java then looks all the time for code to
throw away, and compiles it again."""
_PROCESSES = "-Djdk.lang.Process.launchMechanism=VFORK"
"""Hadoop starts one for each file that it makes."""
_COMPILER = f"-XX:TieredStopAtLevel=1 {_CODE_CACHE} -XX:+UseSerialGC -Xmn400m -XX:MetaspaceSize=256m {_PROCESSES}"
_ROOT = Path(__file__).parents[1]
_ARCHIVE = _ROOT / ".pytest_cache" / "d" / f"spark-{version('pyspark')}-classes" / "classes.jsa"

ARCHIVED = f"-XX:SharedArchiveFile={_ARCHIVE} -Xshare:auto"
"""For any JVM that has Spark's classes."""
FAST_START = f"{_COMPILER} {ARCHIVED}"
"""For `spark.driver.extraJavaOptions`; until there is an archive, Java starts without one."""


def archive_classes() -> None:
    """Makes the archive of this checkout's PySpark, unless there is one or another process is making it."""
    if _ARCHIVE.exists():
        return
    _ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
    with (_ARCHIVE.parent / "lock").open("w") as lock, suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _ARCHIVE.exists():
            _make()


def _make() -> None:
    partial = _ARCHIVE.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    run([sys.executable, "-m", "testkit.spark_java", partial], cwd=_ROOT)
    partial.rename(_ARCHIVE)


if __name__ == "__main__":
    from cdckit.engine.spark.class_trial import write_archive

    write_archive(Path(sys.argv[1]), delta=True, java_options=_COMPILER)
