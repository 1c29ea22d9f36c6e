"""What the environment asks for, and what is said where it cannot be had."""

from __future__ import annotations

import importlib.util
import logging
import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.telemetry import exporting as module
from cdckit.engine.telemetry.asked import Asked, asked
from cdckit.engine.telemetry.exporting import exporting

HTTP, GRPC = "otlp_proto_http", "otlp_proto_grpc"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({}, Asked()),
        ({"OTEL_SERVICE_NAME": "x"}, Asked()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, Asked(HTTP, HTTP)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c/t"}, Asked(None, HTTP)),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, Asked(HTTP, None)),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "c", "OTEL_TRACES_EXPORTER": "none"}, Asked(HTTP, None)),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "c", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, Asked(GRPC, GRPC)),
        ({"OTEL_METRICS_EXPORTER": "console", "OTEL_TRACES_EXPORTER": "console"}, Asked("console", "console")),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "c", "OTEL_SDK_DISABLED": "true"}, Asked()),
    ],
)
def test_what_is_asked(environment: dict[str, str], wanted: Asked) -> None:
    assert asked(environment) == wanted


def test_an_exporter_that_is_not_there(caplog: pytest.LogCaptureFixture) -> None:
    with exporting(Asked("carrier_pigeon", None), Figures("p", "mysql", "p", "direct"), {}):
        pass
    assert "OTEL_METRICS_EXPORTER: no package that is installed has the exporter 'carrier_pigeon'" in caplog.text


def refuse() -> None:
    raise ValueError("no header is called a-secret-word")


def test_settings_that_the_exporter_does_not_take(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusing = EntryPoint("strict", "telemetry.test_asked:refuse", "opentelemetry_metrics_exporter")
    monkeypatch.setattr(module, "entry_points", lambda **_: [refusing])
    with exporting(Asked("strict", None), Figures("p", "mysql", "p", "direct"), {}):
        pass
    assert "OpenTelemetry's exporter 'strict' cannot be made (ValueError): look at OTEL_*" in caplog.text
    assert "a-secret-word" not in caplog.text


def test_the_extra_is_named_where_it_lacks(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(logging.WARNING)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with exporting(Asked(HTTP, HTTP), Figures("p", "mysql", "p", "direct"), {}):
        pass
    assert "pip install 'cdckit[otel]'" in caplog.text


def test_without_it_nothing_of_it_is_loaded() -> None:
    script = (
        "import sys; from cdckit.engine.runners.direct import DirectRunner;"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
