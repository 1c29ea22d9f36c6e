"""A pipeline's figures as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from cdckit.engine.metrics.debezium import HISTORY, SNAPSHOT, STREAMING
from cdckit.engine.metrics.debezium_names import DEBEZIUM_LABELS, DEBEZIUM_NAMES, debezium_labels
from cdckit.engine.metrics.engine import ENGINE
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.metric import Metric
from cdckit.engine.metrics.names import Names

METRICS = (*ENGINE, *SNAPSHOT, *STREAMING, *HISTORY)
"""All of cdckit's own, in the order in which they are served."""

_SUFFIXES = {"counter": "_total", "info": "_info", "gauge": ""}


class FiguresCollector(Collector):
    """Makes the samples when Prometheus asks, so that nothing is done in between.

    Args:
        figures: the pipeline's.
        labels: those of every sample.
        metrics: which.
    """

    def __init__(self, figures: Figures, labels: Mapping[str, str], metrics: Sequence[Metric] = METRICS) -> None:
        self._figures = figures
        self._metrics = metrics
        self._labels = dict(labels)

    def collect(self) -> Iterator[Family]:
        """The metrics with their samples; one that has none is left out."""
        for metric in self._metrics:
            family = Family(metric.name, metric.about, metric.kind)
            for labels, value in metric.samples(self._figures):
                family.add_sample(metric.name + _SUFFIXES[metric.kind], {**labels, **self._labels}, value)
            if family.samples:
                yield family


def collectors(figures: Figures, names: Names, tags: Mapping[str, str]) -> Iterator[FiguresCollector]:
    """What gives a pipeline's metrics by the names that `metrics.names` asks for.

    Args:
        figures: the pipeline's.
        names: whose.
        tags: labels of every sample beside those that the names bring, which win.
    """
    if names != "debezium":
        yield FiguresCollector(figures, {"pipeline": figures.pipeline, "server": figures.server, **tags})
    if names != "cdckit":
        others = {name: value for name, value in tags.items() if name not in DEBEZIUM_LABELS}
        yield FiguresCollector(figures, {**others, **debezium_labels(figures)}, DEBEZIUM_NAMES)
