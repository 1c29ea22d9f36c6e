"""Exports a run's metrics and spans, as the environment asks."""

from __future__ import annotations

import importlib.util
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import entry_points, version
from typing import Any

from cdckit.api.plugins import plugin_manager
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.telemetry.asked import Asked, Signal

log = logging.getLogger("cdckit.telemetry")

_END_MS = 5_000
"""A run waits so long for its last metrics and spans."""


@contextmanager
def exporting(wanted: Asked, figures: Figures, tags: Mapping[str, str]) -> Iterator[None]:
    """Exports while the context lasts. What cannot be is said, and stops no pipeline.

    Args:
        wanted: what is.
        figures: the run's.
        tags: attributes of every metric and span.
    """
    with ExitStack() as stack:
        if wanted and _is_installed():
            if wanted.metrics is not None:
                _export_metrics(wanted.metrics, figures, tags, stack)
            if wanted.traces is not None:
                _export_spans(wanted.traces, figures, tags, stack)
        yield


def _is_installed() -> bool:
    if importlib.util.find_spec("opentelemetry") and importlib.util.find_spec("opentelemetry.sdk"):
        return True
    log.warning(
        "the environment (OTEL_*) asks for OpenTelemetry, which is not installed: pip install 'cdckit[otel]', or set "
        "OTEL_SDK_DISABLED=true"
    )
    return False


def _exporter(signal: Signal, name: str) -> Any:
    """An exporter, made with the environment's settings; None where there is none that can be made."""
    found = next(iter(entry_points(group=f"opentelemetry_{signal}_exporter", name=name)), None)
    if found is None:
        log.warning("OTEL_%s_EXPORTER: no package that is installed has the exporter '%s'", signal.upper(), name)
        return None
    try:
        return found.load()()
    # Its words may hold what the environment has: a header with a key.
    except Exception as error:  # noqa: BLE001
        log.warning("OpenTelemetry's exporter '%s' cannot be made (%s): look at OTEL_*", name, type(error).__name__)
        return None


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - most pipelines export nothing

    own = {"service.version": version("cdckit")}
    if "OTEL_SERVICE_NAME" not in os.environ and "service.name=" not in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", ""):
        own["service.name"] = "cdckit"
    return Resource.create(own)


def _export_metrics(name: str, figures: Figures, tags: Mapping[str, str], stack: ExitStack) -> None:
    from opentelemetry.sdk.metrics import MeterProvider  # noqa: PLC0415
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader  # noqa: PLC0415

    from cdckit.engine.telemetry.metrics import instrument  # noqa: PLC0415

    exporter = _exporter("metrics", name)
    if exporter is None:
        return
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)], _resource(), shutdown_on_exit=False)
    instrument(provider.get_meter("cdckit"), figures, tags)
    stack.callback(provider.shutdown, timeout_millis=_END_MS)


def _export_spans(name: str, figures: Figures, tags: Mapping[str, str], stack: ExitStack) -> None:
    from opentelemetry import trace  # noqa: PLC0415

    from cdckit.engine.telemetry.spans import SpanListener  # noqa: PLC0415

    _provide(name)
    listener = SpanListener(trace.get_tracer("cdckit"), figures, tags)
    manager = plugin_manager()
    manager.register(listener)
    flush = getattr(trace.get_tracer_provider(), "force_flush", None)
    if flush is not None:
        stack.callback(flush, _END_MS)
    stack.callback(manager.unregister, listener)


@cache
def _provide(name: str) -> None:
    """Gives the process a provider, once; one that somebody has given it stays, as with `opentelemetry-instrument`."""
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return
    exporter = _exporter("traces", name)
    if exporter is not None:
        provider = TracerProvider(resource=_resource())
        provider.add_span_processor(BatchSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
