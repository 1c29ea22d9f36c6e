"""Downloads and prepared data folders, kept between runs and shared by parallel ones."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """Folder of everything downloaded: ``$CDCKIT_CACHE``, else ``~/.cache/cdckit``."""
    named = os.environ.get("CDCKIT_CACHE")
    root = Path(named).expanduser().resolve() if named else Path.home() / ".cache" / "cdckit"
    root.mkdir(parents=True, exist_ok=True)
    return root


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the machine-wide lock ``name``: the kernel frees it when its holder dies."""
    with (cache_root() / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def cached(name: str, build: Callable[[Path], None]) -> Path:
    """Return the cache folder ``name``, letting ``build`` fill it first when it is not there.

    ``build`` writes into another folder which is renamed once complete, so a killed build leaves nothing that
    a later run would take for whole.
    """
    target = cache_root() / name
    if target.exists():
        return target
    with exclusive(name):
        if target.exists():
            return target
        partial = target.with_name(f".{name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        build(partial)
        partial.rename(target)
    return target
