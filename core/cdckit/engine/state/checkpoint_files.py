"""Numbered files in a folder beside a Spark checkpoint, each of which is there as a whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import cast

from cdckit.engine.state.copies import CopyFolder
from cdckit.engine.state.spark_checkpoint import Folder


def numbered_files(folder: Folder) -> list[tuple[int, str]]:
    """The numbers and names of a folder's files, in order; none where there is no such folder."""
    try:
        return sorted((int(path.name), path.name) for path in folder.iterdir() if path.name.isdecimal())
    except FileNotFoundError:
        return []


def write_file(folder: Folder, number: int, content: bytes) -> None:
    """Writes a file durably.

    Raises:
        OSError: it cannot be written.
    """
    name = f"{number:012d}"
    if not isinstance(folder, Path):
        cast(CopyFolder, folder / name).write_bytes(content)
        return
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{name}.new"
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / name)


def remove_file(folder: Folder, name: str) -> None:
    """Takes a file away, if that can be done."""
    with suppress(OSError):
        if isinstance(folder, Path):
            (folder / name).unlink()
        else:
            cast(CopyFolder, folder / name).remove()
