"""Prometheus and its promtool, out of Debian's package, without installing it."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from testkit.servers.apt import download
from testkit.servers.cache import cached
from testkit.servers.process import spawn
from testkit.servers.server import Server

_PROGRAMS = ("prometheus", "promtool")


class PrometheusServer(Server):
    """Asks targets every half second.

    Args:
        targets: `HOST:PORT` of what serves metrics.
    """

    def __init__(self, targets: Sequence[str]) -> None:
        super().__init__()
        self._targets = list(targets)

    def install(self) -> None:
        """Fetch the package."""
        programs()

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now.

        Raises:
            ValueError: it is none.
        """
        url = f"http://{self.host}:{self.port}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{expression}: {error.read().decode()}") from error
        return found

    def _lay_out(self, data: Path) -> None:
        data.mkdir()
        jobs = [{"job_name": "cdckit", "static_configs": [{"targets": self._targets}]}]
        config = {"global": {"scrape_interval": "500ms", "scrape_timeout": "500ms"}, "scrape_configs": jobs}
        (data / "prometheus.yml").write_text(json.dumps(config))

    def _spawn(self) -> subprocess.Popen[bytes]:
        words = {
            "config.file": self.datadir / "prometheus.yml",
            "storage.tsdb.path": self.datadir / "series",
            "web.listen-address": f"{self.host}:{self.port}",
        }
        return spawn(
            [str(programs() / "prometheus"), *(f"--{name}={value}" for name, value in words.items())], self.errlog
        )

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.port}/-/ready", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False


@cache
def programs() -> Path:
    """The folder of both programs.

    Raises:
        ServerUnavailableError: the package cannot be had.
    """
    return cached("prometheus", _fetch)


def _fetch(folder: Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as work:
        unpacked = download("prometheus", Path(work))
        for program in _PROGRAMS:
            shutil.copy2(unpacked / "usr" / "bin" / program, folder / program)
