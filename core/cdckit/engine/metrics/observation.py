"""What watches a pipeline while it runs: its figures, kept by the lifecycle hooks, as metrics and as a status file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from cdckit.api.plugins import plugin_manager
from cdckit.connector.signals.options import SignalOptions
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.details_file import DetailsFile
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.listener import FiguresListener
from cdckit.engine.metrics.run_place import RunPlace
from cdckit.engine.metrics.status_file import StatusFile


def figures_of(pipeline: ResolvedPipeline, runner: str) -> Figures:
    """Those of a run that is about to start."""
    server = pipeline.source_config.logical_name or pipeline.name
    return Figures(pipeline.name, pipeline.source.registration.name, server, runner, place=_place(pipeline, runner))


def _place(pipeline: ResolvedPipeline, runner: str) -> RunPlace:
    source = pipeline.source.config
    takes_signals = isinstance(source, SignalOptions) and "in-process" in source.channels
    return RunPlace(
        pipeline.file,
        pipeline.as_written,
        pipeline.store.registration.name,
        pipeline.errors.folder,
        source.signal_types if takes_signals and isinstance(source, SignalOptions) else (),
        pipeline.sink.registration.name,
        None if pipeline.errors.topic is None else pipeline.errors.topic.name,
    )


@contextmanager
def observed(pipeline: ResolvedPipeline, figures: Figures) -> Iterator[None]:
    """Keeps the figures of a run while the context lasts.

    Raises:
        ConfigError: the metrics cannot be served at `metrics.address`.
    """
    with ExitStack() as stack:
        if pipeline.metrics is not None:
            from cdckit.engine.metrics.server import served  # noqa: PLC0415 - most pipelines serve none

            stack.enter_context(served(figures, pipeline.metrics, pipeline.source_config.metric_labels))
        status = StatusFile(pipeline.folder, figures)
        stack.callback(status.close)
        figures.changed = status.changed
        details = DetailsFile(pipeline.folder, figures)
        stack.callback(details.close)

        def changed() -> None:
            status.changed()
            details.changed()

        listener = FiguresListener(figures, changed)
        manager = plugin_manager()
        manager.register(listener)
        stack.callback(manager.unregister, listener)
        yield
