"""A schema registry with Confluent's HTTP interface: Apicurio's, out of the archive on Maven Central."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from testkit.servers.cache import cached
from testkit.servers.java import ensure_java, fetch_archive
from testkit.servers.process import spawn
from testkit.servers.server import Server

_HOME = "CDCKIT_REGISTRY_HOME"
_DOWNLOADED = "2.6.13.Final"
_ARTIFACT = f"io.apicurio:apicurio-registry-app:{_DOWNLOADED}:tar.gz:all"
_SECONDS = 10.0
_JVM = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class SchemaRegistry(Server):
    """A registry that keeps its schemas in memory: a restarted one is empty."""

    @property
    def url(self) -> str:
        """Value for clients' ``schema.registry.url``."""
        return f"http://{self.host}:{self.port}/apis/ccompat/v7"

    @property
    def own_url(self) -> str:
        """Value for clients' ``apicurio.registry.url``."""
        return f"http://{self.host}:{self.port}/apis/registry/v2"

    def register(
        self, subject: str, schema: Any, kind: str = "AVRO", references: Sequence[Mapping[str, Any]] = ()
    ) -> int:
        """Add a schema, which refers to others, as the subject's next version; return its id."""
        given = {"schema": json.dumps(schema), "schemaType": kind, "references": list(references)}
        body = json.dumps(given).encode()
        answer = json.loads(self.get(f"/subjects/{quote(subject, safe='')}/versions", body))
        return cast("int", answer["id"])

    def get(self, path: str, body: bytes | None = None) -> bytes:
        """Return what the registry answers to a request for a path below its URL."""
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        with urllib.request.urlopen(
            urllib.request.Request(f"{self.url}{path}", body, headers), timeout=_SECONDS
        ) as answer:
            return cast("bytes", answer.read())

    def install(self) -> None:
        """Fetch Java and the registry."""
        ensure_java()
        _jar()

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        place = {"HTTP_PORT": str(self.port), "QUARKUS_HTTP_HOST": self.host}
        return spawn([ensure_java(), *_JVM, "-jar", _jar()], self.errlog, env=place, cwd=self.datadir)

    def _answers(self) -> bool:
        try:
            self.get("/subjects")
        except (OSError, urllib.error.URLError):
            return False
        return True


@cache
def _jar() -> Path:
    """Return the runnable jar, in ``$CDCKIT_REGISTRY_HOME`` or downloaded."""
    home = os.environ.get(_HOME)
    folder = Path(home) if home else cached(f"apicurio-{_DOWNLOADED}", lambda new: fetch_archive(_ARTIFACT, new))
    return next(folder.glob("apicurio-registry-app-*-runner.jar"))
