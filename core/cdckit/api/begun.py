"""Which records of the log lie in batches that an attempt before has begun to deliver."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BegunPlaces:
    """What a `Batch` holds of such batches, where the log's positions do not tell it: they are those of another server.

    Attributes:
        held: by position of a record or a mark of the batch, the numbers of the begun batches that hold it; what is not
            named is in none.
        ended: whether all that those batches hold has come by the end of this one.
    """

    held: Mapping[str, Collection[int]]
    ended: bool
