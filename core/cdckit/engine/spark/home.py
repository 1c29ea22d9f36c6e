"""Spark's home as the JVM is told of it: that of the installed PySpark without the archives of PySpark's sources.

Spark puts those first into the search path of its Python processes (`PYTHONPATH`) where its home has them. Modules in
an archive are compiled by each process anew, 0.3 s of a processor or more, and at a start five such processes follow
one another. Without the archives they load the PySpark that the driver has, which was compiled once.
"""

from __future__ import annotations

import atexit
import os
import shutil
import site
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

_VARIABLE = "SPARK_HOME"
_ARCHIVES = "python"
"""The folder with the archives."""


@contextmanager
def without_archives(*, local: bool) -> Iterator[None]:
    """A JVM that is started within has such a home, where workers find the installed PySpark by themselves.

    Args:
        local: whether the workers run on this machine alone, below that JVM.
    """
    home = Path(pyspark.__file__).parent
    if not (local and _found_by_workers(home)):
        yield
        return
    os.environ[_VARIABLE] = str(_linked(home))
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def _found_by_workers(home: Path) -> bool:
    """Whether a Python process without a search path of its own has this PySpark, and nobody says where Spark is."""
    if _VARIABLE in os.environ or os.environ.get("PYSPARK_PYTHON", sys.executable) != sys.executable:
        return False
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return (home / "jars").is_dir() and any(home.parent.samefile(folder) for folder in folders if Path(folder).is_dir())


def _linked(home: Path) -> Path:
    """A folder with links to all that is in Spark's home but the archives, until this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for entry in home.iterdir():
        if entry.name != _ARCHIVES:
            (folder / entry.name).symlink_to(entry)
    return folder
