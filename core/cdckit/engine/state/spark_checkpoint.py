"""How far a Spark query has come, read from its checkpoint's files; needs no Spark.

A checkpoint holds `offsets/N`, written before batch N, and `commits/N`, written after it. An offset file has the lines
`v1`, the batch's metadata, and one JSON offset for each source (Structured Streaming's `OffsetSeqLog`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol, Self

from cdckit.api.record import Offset
from cdckit.connector.damage import DAMAGE
from cdckit.errors import StateError

_FAULTS: tuple[type[Exception], ...] = (*DAMAGE, OSError)


class Folder(Protocol):
    """A folder of this machine (`pathlib.Path`) or elsewhere."""

    @property
    def name(self) -> str:
        """The last part of its address."""

    def __truediv__(self, name: str, /) -> Self: ...

    def iterdir(self) -> Iterator[Self]:
        """What is in it.

        Raises:
            OSError: it cannot be read.
        """

    def is_dir(self) -> bool:
        """Whether it is there."""

    def read_text(self) -> str:
        """What stands in a file."""


def location(folder: Folder) -> str:
    """A folder's address as Spark reads it: nothing in it is escaped, be it a blank or a per cent sign."""
    return f"file://{folder.absolute()}" if isinstance(folder, Path) else str(folder)


class CommittedBatch(NamedTuple):
    """A batch that is in the sink: its number, and the offset that it ends at."""

    number: int
    end: Offset


def committed_batch(checkpoint: Folder) -> CommittedBatch | None:
    """The last batch that the query committed; None when it has committed none.

    Raises:
        StateError: the files cannot be read, or are not as Spark writes them.
    """
    last = _last_number(checkpoint / "commits")
    if last is None:
        return None
    return CommittedBatch(last, planned_end(checkpoint, last))


def planned_end(checkpoint: Folder, batch: int) -> Offset:
    """The offset that a batch ends at, which is noted before the batch begins.

    Raises:
        StateError: the file cannot be read, or is not as Spark writes it.
    """
    path = checkpoint / "offsets" / str(batch)
    try:
        version, _metadata, *offsets = path.read_text().splitlines()
        if version != "v1" or len(offsets) != 1:
            raise ValueError(f"version {version} with {len(offsets)} sources")
        found: Offset = json.loads(offsets[0])
        if not isinstance(found, dict):
            raise TypeError(f"the offset is {str(found)[:80]!r}")
    except _FAULTS as error:
        raise StateError(
            f"Spark checkpoint {path}: {error}; restore the state folder from a copy, "
            "or set the offset with `cdc offsets set`",
            number="CDC7107",
        ) from error
    return found


def planned_batch(checkpoint: Folder) -> int | None:
    """The number of the last batch that the query has planned; None when it has planned none.

    Raises:
        StateError: the files cannot be read.
    """
    return _last_number(checkpoint / "offsets")


def batch_in_hand(checkpoint: Folder) -> int | None:
    """The number of the batch that the query has planned and not committed; None where there is none.

    Raises:
        StateError: the files cannot be read.
    """
    planned, committed = planned_batch(checkpoint), _last_number(checkpoint / "commits")
    return planned if planned is not None and (committed is None or planned > committed) else None


def begun_in_vain(checkpoint: Folder) -> bool:
    """Whether the query died while it noted its first batch: Spark begins none where the rest of such a note stands.

    Raises:
        StateError: the files cannot be read.
    """
    log = checkpoint / "offsets"
    return planned_batch(checkpoint) is None and log.is_dir() and any(log.iterdir())


def show_begun(checkpoint: Path, batch: int) -> None:
    """Notes that a batch is begun of a checkpoint elsewhere: its offset is noted once it is committed."""
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    (checkpoint / "offsets" / str(batch)).touch()


def show_batch(checkpoint: Path, batch: CommittedBatch) -> None:
    """Notes a batch that is committed to a checkpoint elsewhere, for who reads the state folder alone."""
    offset = json.dumps(batch.end)
    for log, text in (("offsets", f"v1\n{{}}\n{offset}"), ("commits", "v1\n{}")):
        (checkpoint / log).mkdir(parents=True, exist_ok=True)
        (checkpoint / log / str(batch.number)).write_text(text)
    # Behind both: who reads meanwhile goes by the newest of `commits`, whose offset must be there.
    for log in ("commits", "offsets"):
        for old in (checkpoint / log).iterdir():
            if old.name.isdecimal() and int(old.name) < batch.number:
                old.unlink()


def _last_number(log: Folder) -> int | None:
    """The newest batch in a metadata log; Spark keeps checksums and unfinished files beside, their names with a dot."""
    try:
        return max((int(path.name) for path in log.iterdir() if path.name.isdecimal()), default=None)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(
            f"Spark checkpoint {log}: {error.strerror or error}; check the folder's permissions", number="CDC7107"
        ) from error
