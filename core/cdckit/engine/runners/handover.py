"""When a direct process that has a pipeline's tail gives way to Spark (`tail: direct`).

Both go on from one state, and one of them runs at a time: the direct process ends behind a saved offset, and lets go of
state and sink, before Spark begins.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from cdckit.api.record import Offset
from cdckit.api.source import Source, Split
from cdckit.api.state_store import StateStore
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.runners.spark_start import SparkStart
from cdckit.engine.state.begun_tables import begun_by

log = logging.getLogger("cdckit.runner")

PART_BYTES = 1 << 20
"""The direct process reads tables in pieces of so many bytes while Spark starts, or of a chunk where that is more …"""
PART_ROWS = 100_000
"""… unless a piece has more rows than this: a source may have larger ones only, or not tell."""


class Part(NamedTuple):
    """A part of a snapshot.

    Attributes:
        splits: in order.
        end: where they end.
    """

    splits: Sequence[Split]
    end: Offset


class Handover:
    """Asked by a direct stage.

    Args:
        spark: starts beside it, once it is wanted.
        figures: tell how far the pipeline is behind.
        limit_seconds: how far it may be.
        settled: whether the stage before this one has left no batch that Spark has begun.

    Attributes:
        given: whether Spark is to go on.
    """

    def __init__(self, spark: SparkStart, figures: Figures, limit_seconds: float, *, settled: bool) -> None:
        self.given = False
        self._spark = spark
        self._figures = figures
        self._limit = limit_seconds
        self._settled = settled

    def is_sparks(self, state: StateStore, folder: Path) -> bool:
        """Whether Spark has begun a batch that tables may have parts of: Spark alone finishes it.

        Args:
            state: the pipeline's, held.
            folder: the pipeline's, on this machine.
        """
        if self._settled or begun_by(state, folder) != "spark":
            return False
        log.info("Spark finishes the batch that it has begun")
        self.given = True
        return True

    def due(self) -> bool:
        """Whether Spark is to go on from the next saved offset; it is started where it will be needed."""
        lag = self._figures.lag_seconds
        if lag is None or lag <= self._limit:
            return False
        self._spark.begin()
        return self._spark.ready

    def give(self) -> None:
        """Everything up to the saved offset is delivered: Spark goes on from there."""
        log.info("the direct process is %.1f s behind: Spark goes on", self._figures.lag_seconds or 0.0)
        self.given = True

    def part(self, source: Source, offset: Offset, point: Offset) -> Part | None:
        """A small part of the snapshot that is due, to be read while Spark starts; None: Spark is to read it.

        Args:
            source: is open.
            offset: where the snapshot is due, or has come to.
            point: where it ends.

        Raises:
            SourceError: the source cannot be asked, or refuses.
        """
        if not self._spark.ready:
            end = source.cut(offset, point, PART_BYTES)
            splits = source.plan(offset, end)
            rows = [split.records for split in splits]
            if None not in rows and sum(row or 0 for row in rows) <= PART_ROWS:
                if end != point:  # more is left than this process is for
                    self._spark.begin()
                return Part(splits, end)
        log.info("Spark reads the snapshot")
        self.given = True
        return None
