"""What the runners share: a pipeline, the wish to stop, and the notices of start and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from functools import cached_property
from typing import ClassVar

from cdckit.api.source import Source
from cdckit.engine.chain import TransformChain
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.lineage.lineage import Lineage, lineage_of, telling
from cdckit.engine.metrics.observation import figures_of, observed
from cdckit.engine.notices import RunNotices
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.forecaster import Forecaster
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.telemetry.asked import asked
from cdckit.engine.telemetry.exporting import exporting
from cdckit.errors import StoppedError


class Runner(ABC):
    """Drives one pipeline.

    Args:
        pipeline: what to run.
        stopping: asked between batches.

    Attributes:
        notices: what it tells the plugins by.
        figures: kept by the hooks; the runner itself adds how full the sink's buffer is.
        lineage: tells OpenLineage while it runs; None where nobody is to be told.
        starts: whether the pipeline starts with it; else it goes on where another one of the same run has ended, and
            what is due at a start (`snapshot.mode`) is done.
    """

    name: ClassVar[str]
    """What pipeline files call it."""

    def __init__(self, pipeline: ResolvedPipeline, stopping: StopSignal | None = None) -> None:
        self.pipeline = pipeline
        self.stopping = stopping or StopSignal()
        self.notices = RunNotices(pipeline.name, definitions=pipeline.lineage is not None)
        self.figures = figures_of(pipeline, self.name)
        self.lineage: Lineage | None = None
        self.starts = True
        self._telemetry = asked()

    def run(self, *, once: bool = False) -> None:
        """Runs until the log's end (`once`) or until asked to stop.

        Raises:
            CdcError: what stopped it; what was saved last stands.
        """
        self.lineage = lineage_of(self.pipeline)
        tags = self.pipeline.source_config.metric_labels
        exports = exporting(self._telemetry, self.figures, tags)
        with observed(self.pipeline, self.figures), telling(self.lineage), exports:
            error: BaseException | None = None
            try:
                with ExitStack() as stack:
                    self.drive(stack, once)
            except StoppedError:  # before anything was read: there is nothing to save
                pass
            except BaseException as fault:
                error = fault
                raise
            finally:
                self.notices.stopped(error)

    @cached_property
    def retries(self) -> Retries:
        """Attempts at a source or sink that is away; one count for the whole run, whoever goes on within it."""
        return Retries(make_source(self.pipeline).retry_schedule(), self.stopping)

    @property
    def measured(self) -> bool:
        """Whether metrics are served or exported, so that sources count what is frequent too."""
        return self.pipeline.metrics is not None or self._telemetry.metrics is not None

    def look_at(self, chain: TransformChain) -> None:
        """Has OpenLineage told of what the transforms make, where it is told anything."""
        if self.lineage is not None:
            chain.watch = self.lineage.watch.see

    def forecaster(self, source: Source) -> Forecaster:
        """What looks ahead while it runs."""
        return Forecaster(source, self.figures, self.pipeline.forecast_warning_ms / 1000)

    @abstractmethod
    def drive(self, stack: ExitStack, once: bool) -> None:
        """Runs the pipeline; what `stack` is given is let go of at the end.

        Raises:
            CdcError: as `run`.
        """
