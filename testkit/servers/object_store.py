"""An object store that speaks S3: moto's server, in an environment of its own."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from functools import cache
from pathlib import Path

from testkit.servers.cache import cached
from testkit.servers.process import run, spawn
from testkit.servers.server import Server

_VERSION = "5.2.5"
_PACKAGES = (f"moto[s3]=={_VERSION}", "flask", "flask-cors")
_SECONDS = 5.0


class ObjectStore(Server):
    """A store that keeps its buckets in memory.

    Args:
        checks_credentials: whether only credentials that were made in it are taken; else any are.
    """

    def __init__(self, *, checks_credentials: bool = False) -> None:
        super().__init__()
        self._env = {"INITIAL_NO_AUTH_ACTION_COUNT": "0"} if checks_credentials else {}

    @property
    def endpoint(self) -> str:
        """Address for clients, host and port; it speaks plain HTTP."""
        return f"{self.host}:{self.port}"

    def install(self) -> None:
        """Fetch moto."""
        _python()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [str(_python()), "-m", "moto.server", "-H", self.host, "-p", str(self.port)]
        return spawn(command, self.errlog, env=self._env, cwd=self.datadir)

    def _answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://{self.endpoint}/", timeout=_SECONDS).close()
        except urllib.error.HTTPError:
            return True
        except (OSError, urllib.error.URLError):
            return False
        return True


@cache
def _python() -> Path:
    """Return the interpreter of an environment that holds moto and nothing of the tests."""
    name = f"moto-{_VERSION}-python-{sys.version_info.major}.{sys.version_info.minor}"
    return cached(name, _install) / "bin" / "python"


def _install(folder: Path) -> None:
    run([sys.executable, "-m", "venv", folder])
    run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES])
