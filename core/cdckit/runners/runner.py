"""What the runners share: a pipeline, the wish to stop, and the notices of start and end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack

from cdckit.config.pipeline import ResolvedPipeline
from cdckit.pipeline import notifier
from cdckit.runners.stop import StopSignal


class Runner(ABC):
    """Drives one pipeline.

    Args:
        pipeline: what to run.
        stopping: asked between batches.
    """

    def __init__(self, pipeline: ResolvedPipeline, stopping: StopSignal | None = None) -> None:
        self.pipeline = pipeline
        self.stopping = stopping or StopSignal()
        self.notify = notifier(pipeline.name)

    def run(self, *, once: bool = False) -> None:
        """Runs until the log's end (`once`) or until asked to stop.

        Raises:
            CdcError: what stopped it; what was saved last stands.
        """
        error: BaseException | None = None
        try:
            with ExitStack() as stack:
                self._run(stack, once)
        except BaseException as fault:
            error = fault
            raise
        finally:
            self.notify("stopped", error=error)

    @abstractmethod
    def _run(self, stack: ExitStack, once: bool) -> None:
        """Runs the pipeline; what `stack` is given is let go of at the end."""
