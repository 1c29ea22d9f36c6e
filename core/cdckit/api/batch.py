"""Batches: records in order, with the place to go on from behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cdckit.api.begun import BegunPlaces
from cdckit.api.marks import TableMark
from cdckit.api.record import Offset, Record


@dataclass(slots=True)
class Batch:
    """Some records in order, and where to go on after them.

    Attributes:
        records: may be empty: an idle log still moves the offset.
        offset: the place to resume once all records so far are safe; None where reading cannot resume.
        log_time_ms: when the newest change in it was committed at the source, or None.
        log_bytes: how much of the log it took, in bytes.
        save: the offset is to be saved before anything that follows is delivered.
        marks: what happened to whole tables, where the runner wants to know (`SourceContext.marks`); their positions
            say between which records.
        repeats: reading on from the offset gives some of the records so far again, so that a sink which takes each
            record once keeps them for a later offset.
        begun: what it holds of batches that were begun before (`Source.begun`), where positions do not tell that; None:
            they do, or there is nothing of those.
        ends: by their positions the offsets behind records, of one row the same object, where they are asked for
            (`Source.tell_ends`). Reading does not go on from them: they say what lies before.
    """

    records: Sequence[Record]
    offset: Offset | None
    log_time_ms: int | None = None
    log_bytes: int = 0
    save: bool = False
    marks: Sequence[TableMark] = ()
    repeats: bool = False
    begun: BegunPlaces | None = None
    ends: Mapping[str, Offset] = field(default_factory=dict)
