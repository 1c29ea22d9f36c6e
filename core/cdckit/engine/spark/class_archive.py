"""The archive of the classes that Spark's JVM loads (Java's class data sharing): where it is, and what uses it.

A JVM maps an archive where else it reads some 14,000 classes from jars, checks them and lays them out, seconds of a
processor at each start. `cdc archive-classes` makes it. It belongs to one Java and to the jars of one Spark, as they
were: its name tells which, and how large it is, as Java itself does not notice one that was cut short.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from cdckit.engine.spark.home import cache_folder, linked_home
from cdckit.engine.spark.java import java_program

END_SECONDS = 300.0
"""How long Java may take to write the archive once it is to end."""
QUIET = "-Xlog:cds*=off"
"""Java warns of archives on standard output, which carries data."""
_SAID = ("SharedArchiveFile", "ArchiveClassesAtExit", "-Xshare")
"""Options of Java's that say what is to be with archives."""
_UNFIT = frozenset(':"\\')
"""Characters that a path may not have within these options."""


def archive_options(given: str) -> Iterator[str]:
    """Options of the JVM of a session on this machine: the archive that fits it, where there is one.

    Args:
        given: the options that the user gives; where these say anything of archives, that holds.
    """
    if any(word in given for word in _SAID):
        return
    with suppress(OSError, RuntimeError):  # no home, or no right to look
        archive = find_archive()
        if archive is not None and fits_options(archive):
            yield f'"-XX:SharedArchiveFile={archive}"'
            yield QUIET


def fits_options(path: Path) -> bool:
    """Whether a path can stand in options of Java that Spark is given."""
    return not _UNFIT & set(str(path))


def find_archive() -> Path | None:
    """The archive for the Java and the Spark that a session on this machine has now.

    Raises:
        OSError: it cannot be looked for.
        RuntimeError: the user has no home.
    """
    for archive in archive_folder().glob(f"{fingerprint()}-*.jsa"):
        if archive.stem.rpartition("-")[2] == str(archive.stat().st_size):
            return archive
    return None


def keep_archive(partial: Path) -> Path:
    """Puts an archive in the place of those that were made before; gives its path. JVMs that use one go on with it.

    What a call that was killed has left of one goes, too.

    Raises:
        OSError: the folder cannot be changed.
    """
    kept = partial.with_name(f"{fingerprint()}-{partial.stat().st_size}.jsa")
    partial.rename(kept)
    for other in kept.parent.glob("*.jsa"):
        if other != kept:
            other.unlink(missing_ok=True)
    for left in kept.parent.glob("*.partial"):
        if time.time() - left.stat().st_mtime > END_SECONDS:
            left.unlink(missing_ok=True)
    return kept


def archive_folder() -> Path:
    """The user's own folder for archives of the installed Spark, which may not be there yet.

    Raises:
        RuntimeError: the user has no home.
    """
    return cache_folder("classes")


def fingerprint() -> str:
    """Stands for all that an archive belongs to: a program, and jars, where they are and as they are.

    Raises:
        OSError: they cannot be looked at.
    """
    home = linked_home(local=True) or Path(_find_spark_home())
    java = java_program()
    files = [*([] if java is None else [java.resolve()]), *sorted((home / "jars").iterdir())]
    told = (f"{file} {(found := file.stat()).st_size} {found.st_mtime_ns}" for file in files)
    return sha256(os.fsencode("\n".join(told))).hexdigest()[:16]
