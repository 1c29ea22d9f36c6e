"""What the environment asks of OpenTelemetry (its specification, "Environment Variable Specification")."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Signal = Literal["metrics", "traces"]
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOLS = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}


@dataclass(frozen=True, slots=True)
class Asked:
    """The exporters that are asked for, as packages register them.

    Attributes:
        metrics: of metrics; None: they are not exported.
        traces: of spans; None: there are none.
    """

    metrics: str | None = None
    traces: str | None = None

    def __bool__(self) -> bool:
        return self.metrics is not None or self.traces is not None


def asked(environment: Mapping[str, str] | None = None) -> Asked:
    """What is asked for. Without an endpoint or an exporter that is named, nothing is.

    Args:
        environment: the process's by default.
    """
    given = os.environ if environment is None else environment
    if given.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Asked()
    return Asked(_exporter("metrics", given), _exporter("traces", given))


def _exporter(signal: Signal, given: Mapping[str, str]) -> str | None:
    of_signal = f"OTEL_EXPORTER_OTLP_{signal.upper()}_"
    named = given.get(f"OTEL_{signal.upper()}_EXPORTER", "").split(",")[0].strip()
    if not named and (given.get(ENDPOINT) or given.get(f"{of_signal}ENDPOINT")):
        named = "otlp"
    if named in ("", "none"):
        return None
    if named != "otlp":
        return named
    protocol = given.get(f"{of_signal}PROTOCOL") or given.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "http/protobuf"
    return _PROTOCOLS.get(protocol.strip(), protocol.strip())
