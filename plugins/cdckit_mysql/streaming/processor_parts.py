"""What a processor of the log's events is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.table_marker import TableMarker
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.incremental.signalling import Signalling
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.streaming.definitions import Definitions
from cdckit_mysql.streaming.progress import LogProgress
from cdckit_mysql.streaming.reselection import Reselection


class Listen(Protocol):
    """Makes what listens to signals beside a processor."""

    def __call__(self, *, start: LogOffset, progress: LogProgress, log_offset: Callable[[], LogOffset]) -> Signalling:
        """Out of where reading begins, where it is, and the processor's own offset."""


@dataclass(frozen=True, slots=True)
class ProcessorParts:
    """The parts of one processor.

    Attributes:
        config: the source's options.
        filters: what is captured.
        versions: what makes records of rows.
        definitions: the definitions in force where reading begins.
        start: where that is.
        marker: makes table marks; None where none are wanted.
        listen: makes what listens to signals beside it; None where nothing does.
        reselection: reads columns of changed rows again; None where none are to be read.
    """

    config: MySqlConfig
    filters: Filters
    versions: TableVersions
    definitions: Definitions
    start: LogOffset
    marker: TableMarker | None = None
    listen: Listen | None = None
    reselection: Reselection | None = None
