"""An object store that speaks S3, and Glue's catalog of tables: moto's server, in an environment of its own."""

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
_PACKAGES = (f"moto[glue,s3]=={_VERSION}", "flask", "flask-cors")
_SECONDS = 5.0


class ObjectStore(Server):
    """A store that keeps its buckets, and a catalog, in memory.

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

    def make_bucket(self, name: str) -> None:
        """Make a bucket, where credentials are not checked."""
        make = urllib.request.Request(f"http://{self.endpoint}/{name}", method="PUT")
        urllib.request.urlopen(make, timeout=_SECONDS).close()

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


_DURABLE = """
import base64, contextlib, hashlib, json, os, sys, threading
from pathlib import Path
from urllib.parse import urlsplit
from moto.moto_api import recorder
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.s3.models import FakeMultipart
from werkzeug.serving import run_simple
from werkzeug.test import Client

begin = FakeMultipart.__init__
def named(upload, key_name, *rest, **others):
    begin(upload, key_name, *rest, **others)
    upload.id = hashlib.sha256(key_name.encode()).hexdigest()  # the same when it is asked once more
FakeMultipart.__init__ = named
journal = Path(os.environ["MOTO_RECORDER_FILEPATH"])
store = DomainDispatcherApplication(create_backend_app)
kept = []
lines = journal.read_text().splitlines() if journal.exists() else []
for number, line in enumerate(lines, 1):
    try:
        request = json.loads(line)
    except ValueError:
        if number < len(lines):
            sys.exit(f"line {number} of {len(lines)} of the journal is torn")
        break  # it was killed while it wrote that
    if request["method"] in ("PUT", "POST", "DELETE"):
        kept.append(line)
        body = request["body"] or ""
        url = urlsplit(request["url"])
        with contextlib.suppress(KeyError):  # a part of an upload that is ended, which it did not take before either
            Client(store).open(
                url.path, base_url=f"{url.scheme}://{url.netloc}", query_string=url.query, method=request["method"],
                headers=request["headers"], data=base64.b64decode(body) if request["body_encoded"] else body,
            )
journal.write_text("".join(f"{line}\\n" for line in kept))
turn, record = threading.Lock(), recorder._record_request
def recorded(*request):
    with turn:  # lines of threads that write at the same time would get mixed
        record(*request)
recorder._record_request = recorded
recorder.start_recording()
run_simple(sys.argv[1], int(sys.argv[2]), store, threaded=True, request_handler=MotoRequestHandler)
"""
"""A store that does what it was asked to before once more, before it serves: moto alone forgets it."""


class DurableObjectStore(ObjectStore):
    """A store that has its buckets again after a kill: it writes down each request before it carries it out."""

    @property
    def journal(self) -> Path:
        """The requests, a line each."""
        return self.datadir / "requests"

    def _spawn(self) -> subprocess.Popen[bytes]:
        command = [str(_python()), "-c", _DURABLE, self.host, str(self.port)]
        return spawn(command, self.errlog, env={"MOTO_RECORDER_FILEPATH": str(self.journal)}, cwd=self.datadir)


@cache
def _python() -> Path:
    """Return the interpreter of an environment that holds moto and nothing of the tests."""
    name = f"moto-{_VERSION}-glue-s3-python-{sys.version_info.major}.{sys.version_info.minor}"
    return cached(name, _install) / "bin" / "python"


def _install(folder: Path) -> None:
    run([sys.executable, "-m", "venv", folder])
    run([folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *_PACKAGES])
