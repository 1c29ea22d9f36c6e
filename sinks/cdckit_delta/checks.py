"""What `cdc validate --connect` finds about the place of the tables, without writing there."""

from __future__ import annotations

import os
import re
from pathlib import Path

from cdckit import Finding, why_unwritable
from cdckit_delta.config import DeltaConfig

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def check_place(config: DeltaConfig) -> Finding:
    """Whether tables can be made where they are to be; of an object store that is not asked."""
    path = config.place
    if _URL.match(path):
        return Finding(
            "path",
            "warn",
            f"whether {path} can be written is not known before something is",
            "`cdc run FILE --once` tells; 'sink.storage.options' say how it is reached",
        )
    folder = Path(path).absolute()
    there = next(parent for parent in (folder, *folder.parents) if os.path.lexists(parent))
    if (problem := why_unwritable(there)) is not None:
        return Finding("path", "fail", problem, "name a folder in 'sink.path' that can be made or written")
    return Finding("path", "ok", f"{folder} {'is written' if there == folder else 'is made'}")
