"""Files that are gone for a while: who needs none of them does not notice."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def files_away(files: Collection[Path]) -> Iterator[None]:
    """While some files are gone; there is at least one."""
    assert files
    for file in files:
        file.rename(file.with_suffix(".gone"))
    try:
        yield
    finally:
        for file in files:
            file.with_suffix(".gone").rename(file)
