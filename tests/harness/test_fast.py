"""`--fast` tells by what a test does whether it needs more than its own process."""

from __future__ import annotations

from pathlib import Path

from testkit.inner_tests import played

CONFTEST = """
import pytest
from testkit.fast import FastTests

def pytest_configure(config):
    config.pluginmanager.register(FastTests())

@pytest.fixture(scope="session")
def server():
    import subprocess
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
"""
TESTS = """
import socket, subprocess
import pytest

def test_alone(): pass

def test_here():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()): pass

def test_broken(): assert False

def test_server(server): assert False

def test_same_server(server): assert False

def test_program(): subprocess.run(["true"], check=True); assert False

def test_caught():
    try:
        subprocess.run(["true"], check=True)
    except Exception:
        assert False

@pytest.mark.parametrize("host", ["192.0.2.1", "example.com"])
def test_elsewhere(host):
    with pytest.raises(OSError):
        socket.create_connection((host, 9), timeout=0.1)
"""


def test_what_starts_a_program_or_asks_elsewhere_is_skipped(tmp_path: Path) -> None:
    verdicts, out = played(tmp_path, CONFTEST, TESTS)
    assert verdicts == {
        "test_alone": "PASSED",
        "test_here": "PASSED",
        "test_broken": "FAILED",
        "test_server": "SKIPPED",
        "test_same_server": "SKIPPED",
        "test_program": "SKIPPED",
        "test_caught": "SKIPPED",
        "test_elsewhere[192.0.2.1]": "SKIPPED",
        "test_elsewhere[example.com]": "SKIPPED",
    }, out
