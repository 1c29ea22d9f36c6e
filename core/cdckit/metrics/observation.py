"""What watches a pipeline while it runs: its figures, kept by the lifecycle hooks, as metrics and as a status file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from cdckit.config.pipeline import ResolvedPipeline
from cdckit.metrics.figures import Figures
from cdckit.metrics.listener import FiguresListener
from cdckit.metrics.status_file import StatusFile
from cdckit.metrics.tags import parse_tags
from cdckit.plugins import plugin_manager


@contextmanager
def observed(pipeline: ResolvedPipeline, runner: str) -> Iterator[Figures]:
    """Keeps the figures of one run while the context lasts.

    Raises:
        ConfigError: the metrics cannot be served at `metrics.address`.
    """
    options = pipeline.source.config
    server = getattr(options, "topic_prefix", None) or pipeline.name
    figures = Figures(pipeline.name, pipeline.source.registration.name, server, runner)
    with ExitStack() as stack:
        if pipeline.metrics is not None:
            from cdckit.metrics.server import served  # noqa: PLC0415 - most pipelines serve none

            tags = parse_tags(getattr(options, "custom_metric_tags", ""))
            labels = {"pipeline": pipeline.name, "server": server, **tags}
            stack.enter_context(served(figures, pipeline.metrics, labels))
        status = StatusFile(pipeline.state, figures)
        stack.callback(status.close)
        listener = FiguresListener(figures, status.changed)
        manager = plugin_manager()
        manager.register(listener)
        stack.callback(manager.unregister, listener)
        yield figures
