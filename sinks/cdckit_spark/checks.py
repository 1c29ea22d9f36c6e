"""What `cdc validate --connect` finds about a lake, without starting Spark."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cdckit import Finding, why_unwritable
from cdckit_spark.config import LakeConfig

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CLUSTERS = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Where these lead, a path may be one of another file system."""


def check_place(config: LakeConfig) -> Finding:
    """Whether tables can be made where they are to be; what only Spark can reach is not asked."""
    if (path := config.place) is None:
        return _unasked("database", f"the database {config.database}")
    if _URL.match(path) or (path == config.path and any(name in os.environ for name in _CLUSTERS)):
        return _unasked("path", path)
    folder = Path(path).absolute()
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    if (problem := why_unwritable(there)) is not None:
        return Finding(
            "path", "fail", problem, "name a folder in 'sink.path' that can be made or written", number="CDC1408"
        )
    return Finding("path", "ok", f"{folder} {'is written' if there == folder else 'is made'}")


def _unasked(name: str, place: str) -> Finding:
    return Finding(
        name,
        "warn",
        f"whether {place} can be written is not known before Spark runs",
        "`cdc run FILE --once` tells; settings under 'spark' say how it is reached",
        number="CDC1408",
    )
