"""Which release of PySpark is installed, and what it is called where Delta Lake has one jar for each."""

from __future__ import annotations

import re
from importlib.abc import FileLoader
from importlib.util import find_spec
from pathlib import Path
from zipimport import zipimporter

from cdckit.errors import ConfigError, Problem

OLDEST = "4.0"
"""The first release whose Python data sources stream Arrow batches."""


def installed() -> str | None:
    """The release that `import pyspark` finds, such as `4.0.2`, without importing it; None where that is not known."""
    # Platforms bring PySpark as a folder or a zip on the path, without the metadata of a package.
    found = find_spec("pyspark")
    if found is None or found.origin is None or not isinstance(found.loader, FileLoader | zipimporter):
        return None
    try:
        text = found.loader.get_data(str(Path(found.origin).with_name("version.py"))).decode()
    except OSError:
        return None
    for line in text.splitlines():
        name, _, value = line.partition("=")
        if name.partition(":")[0].strip() == "__version__":
            return value.strip().strip("\"'")
    return None


def short(release: str) -> str:
    """The part of a release that tells what it can do, `4.0` of `4.0.2`."""
    return ".".join(release.split(".")[:2])


def refused(release: str | None) -> Problem | None:
    """What is wrong with a release; None where it will do."""
    if release is None or _numbers(release) >= _numbers(OLDEST):
        return None
    said = (
        f"runner: 'spark' needs Spark {OLDEST} or newer, and pyspark {release} is installed: use a platform's release "
        f"with Spark {OLDEST} (pip install 'cdckit[spark40]'), or set 'runner: direct' (--runner direct)"
    )
    return Problem(said, "CDC2307")


def require_release() -> None:
    """Looks which release is installed.

    Raises:
        ConfigError: it is too old.
    """
    if problem := refused(installed()):
        raise ConfigError(problem)


def delta_artifact(spark: str, delta: str) -> str:
    """What the jar of a release of Delta Lake for a release of Spark is called on Maven Central."""
    # Until 4.0 each release of Delta was for one of Spark, and its name did not say which.
    return "delta-spark_2.13" if _numbers(delta) < (4, 1) else f"delta-spark_{short(spark)}_2.13"


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", release)[:2])
