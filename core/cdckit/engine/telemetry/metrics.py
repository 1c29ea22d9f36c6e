"""A pipeline's metrics as OpenTelemetry's instruments, which are read when they are exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from opentelemetry.metrics import CallbackOptions, Meter, Observation

from cdckit.engine.metrics.collector import METRICS
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.metric import Metric

_LASTING_TEXTS = frozenset({"cdckit_pipeline", "cdckit_streaming_captured_table"})
"""Other texts change with each event, and the SDK remembers each one."""

Callback = Callable[[CallbackOptions], Iterator[Observation]]


def instrument(meter: Meter, figures: Figures, tags: Mapping[str, str]) -> None:
    """Makes an instrument of each metric.

    Args:
        meter: makes them.
        figures: the pipeline's.
        tags: attributes of every sample besides the pipeline's.
    """
    labels = {"pipeline": figures.pipeline, "server": figures.server, **tags}
    for metric in METRICS:
        read = [_reader(metric, figures, labels)]
        if metric.kind == "counter":
            meter.create_observable_counter(metric.name, read, description=metric.about)
        elif metric.kind == "gauge" or metric.name in _LASTING_TEXTS:
            meter.create_observable_gauge(metric.shown_name, read, description=metric.about)


def _reader(metric: Metric, figures: Figures, labels: Mapping[str, str]) -> Callback:
    def read(_options: CallbackOptions) -> Iterator[Observation]:
        for own, value in metric.samples(figures):
            yield Observation(value, {**own, **labels})

    return read
