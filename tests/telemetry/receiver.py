"""Who listens to OTLP over HTTP, on loopback, and decodes what comes."""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from testkit.posted import posted_to

Attributes = dict[str, Any]


class Receiver:
    """Keeps what is exported.

    Attributes:
        points: for each metric its newest points, as attributes and value.
        spans: as they came.
        resources: the attributes of those who sent.
        headers: those of the requests.
    """

    def __init__(self) -> None:
        self.points: dict[str, list[tuple[Attributes, float]]] = {}
        self.monotonic: dict[str, bool] = {}
        self.spans: list[Any] = []
        self.resources: list[Attributes] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> int:
        """Takes one request; gives the answer's status."""
        self.headers.append(dict(headers))
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        if path == "/v1/metrics":
            self._take_metrics(ExportMetricsServiceRequest.FromString(body))
        else:
            assert path == "/v1/traces"
            for sent in ExportTraceServiceRequest.FromString(body).resource_spans:
                self.resources.append(plain(sent.resource.attributes))
                self.spans += [span for scope in sent.scope_spans for span in scope.spans]
        return 200

    def _take_metrics(self, request: Any) -> None:
        for sent in request.resource_metrics:
            self.resources.append(plain(sent.resource.attributes))
            for metric in (metric for scope in sent.scope_metrics for metric in scope.metrics):
                points = metric.sum.data_points if metric.HasField("sum") else metric.gauge.data_points
                self.monotonic[metric.name] = metric.HasField("sum") and metric.sum.is_monotonic
                self.points[metric.name] = [(plain(one.attributes), one.as_double or one.as_int) for one in points]

    def value(self, name: str, **attributes: str) -> float | None:
        """The value of the one point with these attributes among its own; None: there is none."""
        points = self.points.get(name, ())
        found = [value for own, value in points if attributes.items() <= own.items()]
        return found[0] if len(found) == 1 else None

    def named(self, name: str) -> list[tuple[Any, Attributes]]:
        """The spans of a name, with their attributes."""
        return [(span, plain(span.attributes)) for span in self.spans if span.name == name]


def plain(attributes: Any) -> Attributes:
    """Attributes as Python's values."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listens while the context lasts."""
    receiver = Receiver()
    with posted_to(receiver.take, {"Content-Type": "application/x-protobuf"}) as receiver.url:
        yield receiver
