"""Pipelines whose places live connectors of Debezium take, by the files that `cdc offsets export` makes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from differential.both import PROGRAM, SECONDS, differences
from mysql.capture import Capture, config_for
from mysql.recordings import Event, read_events
from testkit.servers.java import ensure_java
from testkit.servers.mysql_family import SQLServer
from testkit.servers.process import end, spawn, tail

TABLES = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9), at DATETIME(3)); CREATE TABLE marker (id INT PRIMARY KEY);"
ROWS = "INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', NULL);"
BEFORE = """
INSERT INTO t VALUES (3, 'c', NULL); UPDATE t SET v = 'd' WHERE id = 1;
START TRANSACTION; INSERT INTO t VALUES (4, 'e', '2024-02-29 12:00:00.125'), (5, 'f', NULL);
DELETE FROM t WHERE id = 2; COMMIT;
"""
BEHIND = """
UPDATE t SET id = 9 WHERE id = 3; START TRANSACTION; INSERT INTO t VALUES (6, 'g', NULL); UPDATE t SET v = NULL; COMMIT;
DELETE FROM t WHERE id = 4; INSERT INTO marker VALUES (1);
"""
TIMES = ("ts_ms", "ts_us", "ts_ns")
"""When an event was made, of the envelope; the source block has the change's own."""


class Handover:
    """A pipeline and the connector that takes its place.

    Args:
        folder: of all their files.
        number: the names of its files.
        options: what both read.
    """

    def __init__(self, folder: Path, number: int, options: dict[str, Any]) -> None:
        self.own, self.peer = folder / f"{number}.own.jsonl", folder / f"{number}.peer.jsonl"
        self._file, self._offsets = folder / f"{number}.properties", folder / f"{number}.offsets"
        self._settings = [f"state={folder / f'{number}.state'}", f"sink.path={self.own}"]
        self._settings += ["serializer.header.format=json", f"source.database.server.id={810_000 + number}"]
        self._settings += ["source.snapshot.mode=initial"]
        if "mongodb.connection.string" in options:
            self._settings = [setting for setting in self._settings if "server.id" not in setting]
        both = {
            "name": f"engine-{number}",
            "topic.prefix": f"g{number}",
            "errors.max.retries": 0,
            "offset.storage": "org.apache.kafka.connect.storage.FileOffsetBackingStore",
            "offset.storage.file.filename": self._offsets,
            "offset.flush.interval.ms": 0,
        }
        self._file.write_text("".join(f"{name}={value}\n" for name, value in (both | options).items()))
        self.name = both["name"]

    def run(self) -> None:
        """The pipeline, as far as the log goes."""
        DirectRunner(load_pipeline(self._file, self._settings, runner="direct", sink="file")).run(once=True)

    def set(self, offset: dict[str, Any]) -> None:
        """The pipeline stands at an offset."""
        assert self._cdc("set", json.dumps(offset)) == 0

    def export(self) -> None:
        """The connector is told where the pipeline stands; what it delivered so far is put away."""
        assert self._cdc("export", "--to-debezium", str(self._offsets), "--connector", str(self.name)) == 0
        self.own.unlink(missing_ok=True)

    def _cdc(self, command: str, *arguments: str) -> int:
        settings = [part for setting in self._settings for part in ("--set", setting)]
        chosen = ["--runner", "direct", "--sink", "file", *settings]
        return call(["offsets", command, str(self._file), *chosen, *arguments])


def change_and_stand_within(server: SQLServer, folder: Path, database: str) -> dict[str, Any]:
    """Makes the changes of `BEFORE`; gives an offset within their transaction."""
    config = config_for(server, topic_prefix="g1", database_include_list=database, max_batch_size=1)
    with Capture(config, folder / "mid").closing() as reading:
        reading.once()
        server.run_sql(BEFORE, database=database)
        with reading.following() as batches:
            told = [batch for batch in islice(batches, 40) if batch.records][2]
    return dict(told.offset or {})


def run_debezium(folder: Path, jars: Path) -> None:
    """The connectors of a folder, until all have come to their end marks."""
    log = folder / "peer.log"
    program: list[str | Path] = [sys.executable, PROGRAM, folder, jars]
    peer = spawn(program, log, env={"JAVA_HOME": str(ensure_java().resolve().parents[1])})
    try:
        deadline = time.monotonic() + SECONDS
        while peer.poll() is None:
            assert time.monotonic() < deadline, tail(log)
            time.sleep(0.1)
        assert peer.returncode == 0, tail(log)
    finally:
        end(peer, grace=1)


def events(path: Path) -> list[Event]:
    """Keys and values without what differs: when events were made, and by which version."""
    found = []
    for event in read_events(path):
        value = event["value"] and event["value"].get("payload", event["value"])
        found.append({"topic": event["topic"], "key": event["key"], "value": _without_times(value)})
    return found


def assert_equal_behind(folder: Path) -> None:
    """Both tell of the changes of `BEHIND`, source blocks and all: files, positions, rows and GTIDs are equal."""
    peer, own = (events(folder / f"0.{whose}.jsonl") for whose in ("peer", "own"))
    assert kinds(peer) == kinds(own)
    assert not [*differences(peer, own)]
    assert kinds(own) == [
        ("t", "d"), ("t", None), ("t", "c"), ("t", "c"), *[("t", "u")] * 5, ("t", "d"), ("t", None), ("marker", "c"),
    ]  # fmt: skip


def assert_transaction_told_again(folder: Path) -> tuple[Sequence[Event], Sequence[Event]]:
    """Debezium begins with the transaction that the pipeline stood in; gives what it repeats, and the pipeline's."""
    peer, own = (events(folder / f"1.{whose}.jsonl") for whose in ("peer", "own"))
    again = len(peer) - len(own)
    assert again > 0
    assert kinds(peer[again:]) == kinds(own)
    return peer[:again], own


def _without_times(value: Any) -> Any:
    if value is None:
        return None
    source = {**value["source"], "version": None}
    return {name: member for name, member in (value | {"source": source}).items() if name not in TIMES}


def kinds(told: Sequence[Event]) -> list[tuple[str, str | None]]:
    """The table and the operation of each event."""
    return [(event["topic"].rpartition(".")[2], event["value"] and event["value"]["op"]) for event in told]
