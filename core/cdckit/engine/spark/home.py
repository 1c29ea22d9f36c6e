"""Spark's home as the JVM is told of it: that of the installed PySpark without the archives of PySpark's sources.

Spark puts those first into the search path of its Python processes (`PYTHONPATH`) where its home has them. Modules in
an archive are compiled by each process anew, 0.3 s of a processor or more, and at a start five such processes follow
one another. Without the archives they load the PySpark that the driver has, which was compiled once.
"""

from __future__ import annotations

import logging
import os
import site
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import pyspark

log = logging.getLogger("cdckit.runner")

_VARIABLE = "SPARK_HOME"
_ARCHIVES = "python"
"""The folder with the archives."""


@contextmanager
def without_archives(*, local: bool) -> Iterator[None]:
    """A JVM that is started within has such a home, where workers find the installed PySpark by themselves.

    Args:
        local: whether the workers run on this machine alone, below that JVM.
    """
    linked = linked_home(local=local)
    if linked is None:
        yield
        return
    os.environ[_VARIABLE] = str(linked)
    try:
        yield
    finally:
        del os.environ[_VARIABLE]


def linked_home(*, local: bool) -> Path | None:
    """That home, which is made where it is not there; None where the JVM is told of none.

    Args:
        local: as above.
    """
    home = Path(pyspark.__file__).parent
    return _linked(home) if local and _found_by_workers(home) else None


def cache_folder(ending: str = "") -> Path:
    """A folder of the user's own for what is kept of the installed PySpark, which may not be there.

    Args:
        ending: tells it apart from others for the same.

    Raises:
        RuntimeError: the user has no home.
    """
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    installed = sha256(bytes(Path(pyspark.__file__).parent)).hexdigest()[:16]
    return caches / "cdckit" / "-".join(filter(None, ("spark", installed, ending)))


def _found_by_workers(home: Path) -> bool:
    """Whether a Python process without a search path of its own has this PySpark, and nobody says where Spark is."""
    if _VARIABLE in os.environ or os.environ.get("PYSPARK_PYTHON", sys.executable) != sys.executable:
        return False
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return (home / "jars").is_dir() and any(home.parent.samefile(folder) for folder in folders if Path(folder).is_dir())


def _linked(home: Path) -> Path | None:
    """The user's own folder with links to all that is in Spark's home but the archives; None where there can be none.

    It stays, as Java may outlive this process, and the next start finds it.
    """
    try:
        folder = cache_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for entry in home.iterdir():
            link = folder / entry.name
            if entry.name != _ARCHIVES and not link.exists():
                with suppress(FileExistsError):  # another process is making it
                    link.symlink_to(entry)
    except (OSError, RuntimeError) as error:
        log.debug("Spark's Python processes load PySpark from its archive: %s", error)
        return None
    return folder
