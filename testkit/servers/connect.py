"""A worker of Kafka Connect with Debezium's JDBC sink, out of the archives on Maven Central."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from testkit.servers.cache import cached
from testkit.servers.java import ensure_java, fetch_archive, fetch_jars
from testkit.servers.process import spawn
from testkit.servers.server import Server

_HOME = "CDCKIT_CONNECT_HOME"
_VERSION = "4.3.1"
_ARTIFACTS = (
    f"org.apache.kafka:connect-runtime:{_VERSION}",
    f"org.apache.kafka:connect-json:{_VERSION}",
    "org.slf4j:slf4j-simple:1.7.36",
)
_SINK_HOME = "CDCKIT_JDBC_SINK_HOME"
_SINK_VERSION = "3.6.0.Final"
_SINK = f"io.debezium:debezium-connector-jdbc:{_SINK_VERSION}:tar.gz:plugin"
_SIMPLE_JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_FIXED_JVM = ("-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_SECONDS = 30.0


class ConnectWorker(Server):
    """A standalone worker, which is told of its connectors over REST.

    Keys, values and headers are read as Connect's defaults have it, where a connector does not say otherwise.

    Args:
        bootstrap: the broker.
        converters: classes that it has besides, and the folder of the jars of each.
        connectors: the folder of the folders of its connectors' jars, in the place of the sink's.
        jvm: options for Java in place of those that start it fast; measurements want their own.
    """

    def __init__(
        self,
        bootstrap: str,
        converters: Mapping[str, Path] | None = None,
        connectors: Path | None = None,
        jvm: Sequence[str] = _SIMPLE_JVM,
    ) -> None:
        super().__init__()
        self._bootstrap = bootstrap
        self._converters = dict(converters or {})
        self._connectors = connectors
        self._jvm = jvm

    def create(self, name: str, config: Mapping[str, str]) -> None:
        """Start a connector."""
        self._ask("/connectors", {"name": name, "config": config})

    def delete(self, name: str) -> None:
        """Stop a connector."""
        self._ask(f"/connectors/{name}", method="DELETE")

    def failure(self, name: str) -> str | None:
        """Return why a connector, or a task of it, has failed; None where it has not."""
        told = self._ask(f"/connectors/{name}/status")
        failed = [one["trace"] for one in (told["connector"], *told["tasks"]) if one["state"] == "FAILED"]
        return failed[0] if failed else None

    def install(self) -> None:
        """Fetch Java, Kafka Connect and the sink."""
        ensure_java()
        _libs()
        _plugins()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()
        (data / "plugins").mkdir()
        for name, jars in self._converters.items():
            _lay_out_converter(data / "plugins" / name, name, jars)

    def _spawn(self) -> subprocess.Popen[bytes]:
        properties = self._folder / "worker.properties"
        json_converter = "org.apache.kafka.connect.json.JsonConverter"
        options = {
            "bootstrap.servers": self._bootstrap,
            "listeners": f"http://{self.host}:{self.port}",
            "plugin.path": f"{self._connectors or _plugins()},{self.datadir / 'plugins'}",
            "plugin.discovery": "service_load",
            "key.converter": json_converter,
            "value.converter": json_converter,
            "offset.storage.file.filename": str(self.datadir / "offsets"),
        }
        properties.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
        main = "org.apache.kafka.connect.cli.ConnectStandalone"
        return spawn([ensure_java(), *_FIXED_JVM, *self._jvm, "-cp", f"{_libs()}/*", main, properties], self.errlog)

    def _answers(self) -> bool:
        try:
            self._ask("/connectors")
        except (OSError, urllib.error.URLError):
            return False
        return True

    def _ask(self, path: str, body: Mapping[str, Any] | None = None, method: str | None = None) -> Any:
        request = urllib.request.Request(
            f"http://{self.host}:{self.port}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            text = answer.read()
        return json.loads(text) if text else None


def _lay_out_converter(folder: Path, name: str, jars: Path) -> None:
    """Makes a plugin of jars that do not tell of their class: to look through all of them takes ten seconds."""
    folder.mkdir()
    for jar in jars.glob("*.jar"):
        (folder / jar.name).symlink_to(jar)
    with zipfile.ZipFile(folder / "services.jar", "w") as services:
        services.writestr("META-INF/services/org.apache.kafka.connect.storage.Converter", f"{name}\n")


@cache
def _libs() -> Path:
    """Return the folder of the worker's jars: of ``$CDCKIT_CONNECT_HOME``, or downloaded."""
    if home := os.environ.get(_HOME):
        return Path(home) / "libs"
    return cached(f"connect-{_VERSION}", lambda folder: fetch_jars(_ARTIFACTS, folder))


@cache
def _plugins() -> Path:
    """Return the folder in which the sink's folder is: ``$CDCKIT_JDBC_SINK_HOME``, or downloaded."""
    if home := os.environ.get(_SINK_HOME):
        return Path(home)
    return cached(f"jdbc-sink-{_SINK_VERSION}", lambda folder: fetch_archive(_SINK, folder))
