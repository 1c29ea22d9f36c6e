"""What every process of one Spark query needs to know: planner, workers, driver."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from uuid import uuid4

from cdckit.api.record import Offset
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.spark.inbox import Address
from cdckit.engine.spark.table_shape import TableShape

if TYPE_CHECKING:
    from cdckit.engine.spark.task_sink import TaskSink

Form = Literal["messages", "packed messages", "table rows", "typed rows"]
"""What the workers hand to the JVM: a row for each message, packets of messages, the packets of a table sink, or rows
of one table with its own columns."""

Place = Offset | int | str
"""A place in a source's log: an offset, a time in ms since 1970, or the position of a record."""

MAX_BYTES = 256 * 1024 * 1024
"""How much of a backlog one batch takes by default, in bytes of the source's log."""

SPLIT_BYTES = 64 * 1024 * 1024
"""So much of a batch there is for each split that may be read at the same time, where batches grow with these ..."""
MOST_BYTES = 1024 * 1024 * 1024
"""... up to so much in all: the planner looks at a batch by itself."""

WAIT_SECONDS = 0.1
"""How long a query that may have other sources is held up by one that is idle."""


@dataclass(frozen=True, slots=True)
class Job:
    """One query over one pipeline. It can be pickled.

    Attributes:
        pipeline: what is read, and what becomes of it.
        form: what the workers hand on.
        parallelism: how many splits may be read at the same time, where there is no driver to be asked.
        task_sink: what tasks write, each its share of the keys; None: they write nothing.
        max_bytes: how much of a backlog one batch takes, in bytes of the source's log.
        grows: whether that is more where many splits may be read at the same time.
        batch_seconds: how long the delivery of a batch of the log is to take; 0: size alone counts.
        wait_seconds: how long the planner waits for the log's end to move before it says that it did not.
        relay: where the driver listens for logs and notices, or None.
        log_level: from which level on logs are sent there.
        generation: the run's checkpoint, which tells how far the pipeline has come; None: that is in the state.
        copied: whether the driver makes copies of the state.
        saves: whether the planner saves the offset of each committed batch, so that the checkpoint may be lost.
        measured: whether metrics are served, so that sources count what is frequent too.
        marks: whether table marks are told.
        shape: what typed rows look like; None in other forms.
        begin: where it is to begin; None: where the state says.
        end: where it is to end, for a reading that is no stream; None: at the log's end.
        faults: where the driver takes what cannot be delivered; None: it stops the query.
        ledger: where the driver takes what tasks read for the ledger; None: none is kept.
        spools: whether workers find files of the planner, as they do where the master is this machine.
        shares_folders: whether workers may write into the folders of the sink's tables.
        starts: whether the pipeline starts with this query, or has planned in the same run already.
        ends: whether the query is to end at the log's end, whatever Spark says.
        in_order: whether the planner reads the log itself, in order, and keeps what it read for the workers.
        besides: whether what a source has besides its log, such as heartbeats, is delivered.
        kept: where the driver gives what was kept to workers on other machines; None: they find the files.
        token: tells this query's parts, kept in worker processes from batch to batch, from another's.
    """

    pipeline: ResolvedPipeline
    form: Form = "messages"
    parallelism: int = 1
    task_sink: TaskSink | None = None
    max_bytes: int = MAX_BYTES
    grows: bool = False
    batch_seconds: float = 0.0
    wait_seconds: float = WAIT_SECONDS
    relay: str | None = None
    log_level: int = 0
    generation: str | None = None
    copied: bool = False
    saves: bool = False
    measured: bool = False
    marks: bool = False
    shape: TableShape | None = None
    begin: Place | None = None
    end: Place | None = None
    faults: Address | None = None
    ledger: Address | None = None
    spools: bool = False
    shares_folders: bool = True
    starts: bool = True
    ends: bool = False
    in_order: bool = False
    besides: bool = False
    kept: Address | None = None
    token: str = field(default_factory=lambda: uuid4().hex)
