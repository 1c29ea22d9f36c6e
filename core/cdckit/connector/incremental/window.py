"""A chunk between its two watermarks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from cdckit.connector.incremental.state import Key, Wanted

Row = TypeVar("Row")


@dataclass(slots=True)
class Window(Generic[Row]):
    """What a chunk holds that the log has not told of since.

    Attributes:
        id: what the marks' identifiers begin with.
        wanted: whose chunk it is; None: everything was read already.
        rows: what was read, by what tells rows apart.
        after: the chunk's end.
        size: how many rows were read.
        is_open: whether the first watermark has been passed.
    """

    id: str
    wanted: Wanted | None = None
    rows: dict[Hashable, Row] = field(default_factory=dict)
    after: Key | None = None
    size: int = 0
    is_open: bool = False
