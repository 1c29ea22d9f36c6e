"""Who is answered when metrics are asked for, and how many at the same time."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from cdckit.engine.metrics.access import MetricsAccess
from cdckit.engine.metrics.address import ListenAddress
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.server import CONNECTIONS, served
from cdckit.errors import ConfigError
from testkit.background import repeated

ANYWHERE = ListenAddress("127.0.0.1", 0)


@pytest.fixture
def figures() -> Figures:
    return Figures("p", "mysql", "p", "direct")


def _ask(url: str | None, **options: Any) -> tuple[int, str]:
    assert url is not None
    headers = options.pop("headers", {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30, **options) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_other_paths_are_not_found(figures: Figures) -> None:
    with served(figures, MetricsAccess(ANYWHERE), {}):
        assert figures.metrics is not None
        assert _ask(figures.metrics)[0] == 200
        assert _ask(figures.metrics.removesuffix("/metrics") + "/health") == (
            404,
            "metrics are at /metrics, probes at /livez and /readyz\n",
        )


def test_a_token_is_asked_for(figures: Figures) -> None:
    with served(figures, MetricsAccess(ANYWHERE, SecretStr("never-shown")), {}):
        assert _ask(figures.metrics)[0] == 401
        assert _ask(figures.metrics, headers={"Authorization": "Bearer other"})[0] == 401
        status, text = _ask(figures.metrics, headers={"Authorization": "Bearer never-shown"})
    assert (status, "cdckit_running" in text, "never-shown" in text) == (200, True, False)


def test_over_tls(figures: Figures, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    make = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject]
    subprocess.run([*make, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    without_key = MetricsAccess(ANYWHERE, certificate=certificate)
    with pytest.raises(ConfigError, match=r"metrics\.tls\.certificate: .*metrics\.tls\.key"):
        without_key.tls_context()
    with served(figures, MetricsAccess(ANYWHERE, certificate=certificate, key=key), {}):
        assert str(figures.metrics).startswith("https://")
        trusting = ssl.create_default_context(cafile=str(certificate))
        with socket.create_connection(("127.0.0.1", int(str(figures.metrics).split(":")[2].split("/")[0]))):
            assert _ask(figures.metrics, context=trusting)[0] == 200  # beside one that does not shake hands


def test_who_asks_ever_so_slowly_is_hung_up_on(figures: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then keeps no connection for longer than a whole request may take."""
    monkeypatch.setattr("cdckit.engine.metrics.server.PATIENCE", 1.0)
    with ExitStack() as stack:
        stack.enter_context(served(figures, MetricsAccess(ANYWHERE), {}))
        port = int(str(figures.metrics).split(":")[2].split("/")[0])
        slow = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(CONNECTIONS)]

        def drip() -> None:
            for each in slow:
                with suppress(OSError):
                    each.sendall(b"G")

        stack.enter_context(repeated(drip, 0.2))
        _is_answered(figures.metrics, time.monotonic() + 30)


def test_connections_and_threads_are_bounded(figures: Figures) -> None:
    """Those that ask for nothing are hung up on after a while, and then others are answered again."""
    with ExitStack() as stack:
        stack.enter_context(served(figures, MetricsAccess(ANYWHERE), {}))
        port = int(str(figures.metrics).split(":")[2].split("/")[0])
        for _ in range(100):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        deadline = time.monotonic() + 60
        while not (threads := [one for one in threading.enumerate() if "process_request_thread" in one.name]):
            assert time.monotonic() < deadline
        assert len(threads) <= CONNECTIONS
        _is_answered(figures.metrics, deadline)


def _is_answered(url: str | None, deadline: float) -> None:
    while True:
        try:
            answer = _ask(url)
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        else:
            assert answer[0] == 200
            return
