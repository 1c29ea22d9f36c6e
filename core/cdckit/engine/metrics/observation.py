"""What watches a pipeline while it runs: its figures, kept by the lifecycle hooks, as metrics and as a status file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from cdckit.api.plugins import plugin_manager
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.listener import FiguresListener
from cdckit.engine.metrics.status_file import StatusFile


@contextmanager
def observed(pipeline: ResolvedPipeline, runner: str) -> Iterator[Figures]:
    """Keeps the figures of one run while the context lasts.

    Raises:
        ConfigError: the metrics cannot be served at `metrics.address`.
    """
    options = pipeline.source_config
    server = options.logical_name or pipeline.name
    figures = Figures(pipeline.name, pipeline.source.registration.name, server, runner)
    with ExitStack() as stack:
        if pipeline.metrics is not None:
            from cdckit.engine.metrics.server import served  # noqa: PLC0415 - most pipelines serve none

            labels = {"pipeline": pipeline.name, "server": server, **options.metric_labels}
            stack.enter_context(served(figures, pipeline.metrics, labels))
        status = StatusFile(pipeline.state, figures)
        stack.callback(status.close)
        listener = FiguresListener(figures, status.changed)
        manager = plugin_manager()
        manager.register(listener)
        stack.callback(manager.unregister, listener)
        yield figures
