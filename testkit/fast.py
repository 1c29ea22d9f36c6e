"""pytest's `--fast`: the tests that need nothing but their own process; which those are shows by what they do.

A test that starts a program or asks for another machine, itself or by a fixture, is skipped in that moment. A session
fixture that was skipped stays so, and with it all tests that use it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from typing import Any

import pytest

_STARTS = ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system", "os.fork", "os.forkpty")
_ASKS = {"socket.connect": 1, "socket.getaddrinfo": 0}
"""Audit events of the network, and the argument that names the other side."""
_HERE = ("", "localhost", "::1", "0.0.0.0")


class FastTests:
    """Skips, while a test runs, what needs more than its process."""

    def __init__(self) -> None:
        self._running = False
        sys.addaudithook(self._hear)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Listens while a test runs; what pytest and xdist start between tests is theirs."""
        self._running = True
        try:
            return (yield)
        finally:
            self._running = False

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self._running:
            return
        if event in _STARTS:
            pytest.skip("starts a program")
        if event in _ASKS and not _is_here(arguments[_ASKS[event]]):
            pytest.skip("asks for another machine")


def _is_here(address: object) -> bool:
    host = address[0] if isinstance(address, tuple) else address
    if isinstance(host, bytes):
        host = host.decode(errors="replace")
    return not isinstance(host, str) or host in _HERE or host.startswith(("127.", "/"))
