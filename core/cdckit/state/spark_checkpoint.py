"""How far a Spark query has come, read from its checkpoint's files; needs no Spark.

A checkpoint holds `offsets/N`, written before batch N, and `commits/N`, written after it. An offset file has the lines
`v1`, the batch's metadata, and one JSON offset for each source (Structured Streaming's `OffsetSeqLog`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from cdckit.errors import StateError
from cdckit.record import Offset


class CommittedBatch(NamedTuple):
    """A batch that is in the sink: its number, and the offset that it ends at."""

    number: int
    end: Offset


def committed_batch(checkpoint: Path) -> CommittedBatch | None:
    """The last batch that the query committed; None when it has committed none.

    Raises:
        StateError: the files cannot be read, or are not as Spark writes them.
    """
    last = _last_number(checkpoint / "commits")
    if last is None:
        return None
    path = checkpoint / "offsets" / str(last)
    try:
        version, _metadata, *offsets = path.read_text().splitlines()
        if version != "v1" or len(offsets) != 1:
            raise ValueError(f"version {version} with {len(offsets)} sources")
        found: Offset = json.loads(offsets[0])
    except (OSError, ValueError) as error:
        raise StateError(
            f"Spark checkpoint {path}: {error}; restore the state folder from a copy, "
            "or set the offset with `cdc offsets set`"
        ) from error
    return CommittedBatch(last, found)


def planned_batch(checkpoint: Path) -> int | None:
    """The number of the last batch that the query has planned; None when it has planned none.

    Raises:
        StateError: the files cannot be read.
    """
    return _last_number(checkpoint / "offsets")


def _last_number(log: Path) -> int | None:
    """The newest batch in a metadata log; Spark keeps checksums and unfinished files beside, their names with a dot."""
    try:
        return max((int(path.name) for path in log.iterdir() if path.name.isdigit()), default=None)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError(f"Spark checkpoint {log}: {error.strerror}; check the folder's permissions") from error
