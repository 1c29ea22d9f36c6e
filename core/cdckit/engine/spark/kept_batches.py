"""Batches that the planner has read itself, kept on disk from before Spark notes them until they are committed.

What is read once, such as the chunk of a table between two places of the log, is not the same when it is read again.
So a batch that Spark repeats has the rows that were kept, and no others. The offset at its end names the file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

from cdckit.api.record import Offset
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.kept_inbox import opened
from cdckit.engine.spark.kept_parts import Part, PartWriter, parts_of
from cdckit.errors import SnapshotDueError, StateError

MEMBER = "cdckit_kept"
"""The offset's member that names the batch which ends there."""
FOLDER = "kept"
"""The folder in a pipeline's own where such batches are."""
_SUFFIX = ".batch"


def name_of(offset: Offset) -> str | None:
    """The name of the kept batch that ends at an offset, or None."""
    name = offset.get(MEMBER)
    return name if isinstance(name, str) else None


def plain(offset: Offset) -> Offset:
    """An offset as its source gave it."""
    return {member: value for member, value in offset.items() if member != MEMBER}


@dataclass(frozen=True, slots=True)
class KeptBatch:
    """The payload of a split whose records are kept.

    Attributes:
        path: the file's, on the driver's machine.
    """

    path: Path

    def parts(self, address: Address | None) -> Iterator[Part]:
        """What was kept.

        Args:
            address: where the driver gives it out; None: it is on this machine.

        Raises:
            StateError: it is not there any more, or is damaged.
        """
        try:
            with opened(self.path, address) as file:
                yield from parts_of(file)
        except (OSError, EOFError) as error:
            raise StateError(f"{self.path}: what the planner has read cannot be read again: {error}") from error


class BatchWriter:
    """Writes one batch.

    Args:
        folder: where its file is made; only its owner may read that.

    Attributes:
        name: the batch's.
        records: how many it has.
        told: whether anything is in it.
    """

    def __init__(self, folder: Path) -> None:
        self.name = uuid4().hex
        self.records, self.told = 0, False
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{self.name}{_SUFFIX}"
        self._file = os.fdopen(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb", 1 << 20)
        self._parts = PartWriter(self._file)
        self._whole = 0
        self._finished = False

    @property
    def bytes(self) -> int:
        """How much has been written."""
        return self._file.tell()

    def add(self, part: Part) -> None:
        """Adds what was read."""
        if part.records or part.marks or part.undecoded:
            self._parts.write(part)
            self.records += len(part.records)
            self.told = True

    def passes(self) -> None:
        """All so far may be the batch."""
        self._whole = self._file.tell()

    def finish(self) -> None:
        """Keeps durably what was there when it was last said that it may be the batch."""
        self._file.truncate(self._whole)
        self._file.flush()
        os.fsync(self._file.fileno())
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._finished = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if not self._finished:
            self._path.unlink(missing_ok=True)


class KeptBatches:
    """The kept batches of one pipeline.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def writer(self) -> BatchWriter:
        """A new batch."""
        return BatchWriter(self._folder)

    def of(self, end: Offset) -> KeptBatch | None:
        """The batch that ends at an offset; None where it was not kept, as what it holds can be read again.

        Raises:
            SnapshotDueError: it was, and is gone: a new checkpoint goes on from the batch before it.
        """
        name = name_of(end)
        if name is None:
            return None
        path = self._folder / f"{Path(name).name}{_SUFFIX}"
        if not path.is_file():
            raise SnapshotDueError(
                f"{path} is gone, and with it what was read of the batch that Spark has planned last: a new checkpoint "
                "goes on from the batch before, and what was delivered of it is delivered again"
            )
        return KeptBatch(path)

    def forget_all_but(self, names: Collection[str | None]) -> None:
        """Removes what nobody will ask for."""
        for path in self._folder.glob(f"*{_SUFFIX}"):
            if path.stem not in names:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
