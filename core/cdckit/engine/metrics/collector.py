"""A pipeline's figures as Prometheus reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import Metric as Family
from prometheus_client.registry import Collector

from cdckit.engine.metrics.debezium import HISTORY, SNAPSHOT, STREAMING
from cdckit.engine.metrics.engine import ENGINE
from cdckit.engine.metrics.figures import Figures

METRICS = (*ENGINE, *SNAPSHOT, *STREAMING, *HISTORY)
"""All of them, in the order in which they are served."""

_SUFFIXES = {"counter": "_total", "info": "_info", "gauge": ""}


class FiguresCollector(Collector):
    """Makes the samples when Prometheus asks, so that nothing is done in between.

    Args:
        figures: the pipeline's.
        labels: those of every sample.
    """

    def __init__(self, figures: Figures, labels: Mapping[str, str]) -> None:
        self._figures = figures
        self._labels = dict(labels)

    def collect(self) -> Iterator[Family]:
        """The metrics with their samples; one that has none is left out."""
        for metric in METRICS:
            family = Family(metric.name, metric.about, metric.kind)
            for labels, value in metric.samples(self._figures):
                family.add_sample(metric.name + _SUFFIXES[metric.kind], {**labels, **self._labels}, value)
            if family.samples:
                yield family
