"""Serves the metrics of one pipeline over HTTP, for Prometheus to ask."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server

from cdckit.errors import ConfigError
from cdckit.metrics.address import ListenAddress
from cdckit.metrics.collector import FiguresCollector
from cdckit.metrics.figures import Figures

log = logging.getLogger("cdckit.metrics")


@contextmanager
def served(figures: Figures, address: ListenAddress, labels: Mapping[str, str]) -> Iterator[None]:
    """Serves while the context lasts; `figures.metrics` says where.

    Args:
        figures: the pipeline's.
        address: where to listen.
        labels: those of every sample.

    Raises:
        ConfigError: the address cannot be listened at.
    """
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    registry.register(FiguresCollector(figures, labels))
    try:
        server, thread = start_http_server(address.port, address.host, registry)
    except OSError as error:
        raise ConfigError(
            f"metrics.address: cannot listen at {address}: {error.strerror or error}; "
            "name an address of this machine and a free port, or port 0 for any"
        ) from error
    figures.metrics = f"http://{ListenAddress(address.host, server.server_port)}/metrics"
    log.info("metrics are served at %s", figures.metrics, extra={"metrics": figures.metrics})
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
