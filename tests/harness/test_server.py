"""How long a test waits for a server: while it works, and not while it stands still."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from testkit.servers import server
from testkit.servers.errors import ServerStartError
from testkit.servers.process import spawn
from testkit.servers.server import Server


class Slow(Server):
    """A process that does something, and answers a second later."""

    does = "while True: pass"

    def install(self) -> None: ...

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._ready = time.monotonic() + 1
        return spawn([sys.executable, "-c", self.does], self.errlog, cwd=self.datadir)

    def _answers(self) -> bool:
        return time.monotonic() > self._ready


class Hanging(Slow):
    """A process that does nothing, and never answers."""

    does = "import time; time.sleep(600)"

    def _answers(self) -> bool:
        return False


def test_a_server_that_works_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_IDLE_SECONDS", 0.7)
    with Slow() as slow:
        assert slow.pid is not None


def test_a_server_that_stands_still_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_IDLE_SECONDS", 0.7)
    hanging = Hanging()
    with pytest.raises(ServerStartError, match=r"Hanging idle for 0\.7 s"):
        hanging.start()
    assert hanging.pid is None
    hanging.close()
