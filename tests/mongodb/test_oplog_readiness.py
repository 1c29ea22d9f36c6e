"""What `cdc validate --connect` says of the oplog, and of the place that a pipeline stood at."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pymongo import MongoClient

from cdckit.api.checks import Finding, PositionChecks
from cdckit.api.record import Offset
from cdckit.engine.state.runner_handover import open_state
from cdckit_mongodb.source import MongoDbSource
from mongodb.capture import Capture
from mongodb.small_oplog import failing, fill_the_oplog, forgetful, oldest
from testkit.running import to_file
from testkit.states import state_in

Document = dict[str, Any]
_SIZED = r"a pause of 24 h needs \d+\.\d GiB: db\.adminCommand\(\{replSetResizeOplog: 1, size: (\d+), min.*: 24\}"


@dataclass(frozen=True, slots=True)
class Filled:
    """A set whose oplog drops what is old.

    Attributes:
        uri: its connection string.
        client: of the whole set.
        lost: where a pipeline stood whose place is gone.
        before: what was said of the oplog before it was full.
    """

    uri: str
    client: MongoClient[Document]
    lost: Offset
    before: Finding


@pytest.fixture(scope="module")
def filled() -> Iterator[Filled]:
    """The set."""
    with forgetful() as replica_set, replica_set.client() as client:
        before = _window(replica_set.uri)
        lost = _offset(replica_set.uri)
        fill_the_oplog(client, lost)
        yield Filled(replica_set.uri, client, lost, before)


def _brim(client: MongoClient[Document]) -> None:
    """Writes until the oplog is full to the brim and spans a second or more: it drops what is old in strides."""
    while (stats := client.local.command("collStats", "oplog.rs"))["size"] < 0.95 * stats["maxSize"]:
        client.filling.a.insert_one({"text": "x" * 20_000})
    time.sleep(1.1)
    client.filling.a.insert_one({})


def _offset(uri: str) -> Offset:
    """Where a pipeline stands that has read everything."""
    capture = Capture(uri, snapshot_mode="no_data")
    capture.once()
    assert capture.offset is not None
    return capture.offset


def _window(uri: str) -> Finding:
    [found] = [one for one in MongoDbSource.check(Capture(uri).config()) if one.name == "oplog window"]
    return found


def _position(uri: str, offset: Offset, **options: Any) -> Finding:
    assert isinstance(MongoDbSource, PositionChecks)
    [found] = MongoDbSource.check_position(Capture(uri, **options).config(), offset)
    assert found.name == "position"
    return found


def test_an_oplog_that_is_not_full_yet_is_ok(filled: Filled) -> None:
    assert (filled.before.status, filled.before.remedy) == ("ok", "")
    assert re.fullmatch(
        r"\d+ s of changes, since \S+Z, \d+\.\d\d GiB an hour; it holds 0\.00 GiB, and is not full yet",
        filled.before.message,
    )


def test_an_oplog_that_bears_no_long_pause_is_told_with_the_size_it_needs(filled: Filled) -> None:
    _brim(filled.client)
    found = _window(filled.uri)
    assert found.status == "warn"
    sized = re.match(_SIZED, found.remedy)
    assert sized is not None
    assert int(sized[1]) >= 990


def test_the_remedies_are_commands_that_servers_take(filled: Filled) -> None:
    """What is kept by hours is ok, however small the oplog is."""
    filled.client.admin.command({"replSetResizeOplog": 1, "minRetentionHours": 24.0})
    try:
        found = _window(filled.uri)
    finally:
        filled.client.admin.command({"replSetResizeOplog": 1, "minRetentionHours": 0.0})
    assert found.status == "ok"
    assert ", and keeps 24 h at the least" in found.message


def test_who_may_not_read_the_oplog_is_told_what_to_grant(filled: Filled) -> None:
    for command, said in (("find", "cannot be told"), ("collStats", "how fast it grows cannot be told")):
        with failing(filled.client, command, 13, namespace="local.oplog.rs"):
            found = _window(filled.uri)
        assert found.status == "warn"
        assert said in found.message
        assert found.remedy.startswith("grant find and collStats on {db: 'local', collection: 'oplog.rs'}")


def test_a_place_at_the_end_is_ok(filled: Filled) -> None:
    found = _position(filled.uri, _offset(filled.uri))
    assert (found.status, found.remedy) == ("ok", "")
    assert re.match(r"(at|\d s behind) the newest operation, in an oplog that reaches back \d+ s", found.message)


def test_a_place_that_the_oplog_will_drop_soon_is_told(filled: Filled) -> None:
    _brim(filled.client)
    sec, order = oldest(filled.client)
    found = _position(filled.uri, {"sec": sec, "ord": order})
    assert found.status == "warn"
    assert re.match(r"\d+ s behind the newest operation, in an oplog that reaches back \d+ s", found.message)
    assert re.match(r"run the pipeline soon, or db\.adminCommand\(\{replSetResizeOplog: 1, size: \d+", found.remedy)


@pytest.mark.parametrize(
    ("mode", "status", "remedy"),
    [("initial", "fail", "snapshot.mode=when_needed takes"), ("when_needed", "warn", "a new snapshot will be taken")],
)
def test_a_place_that_is_gone_is_told(filled: Filled, mode: str, status: str, remedy: str) -> None:
    found = _position(filled.uri, filled.lost, snapshot_mode=mode)
    assert found.status == status
    assert re.search(r"is gone from the oplog, which begins at \S+Z: the changes of \d+ s are lost$", found.message)
    assert found.remedy.startswith(remedy)


def test_a_place_in_the_future_is_told(filled: Filled) -> None:
    found = _position(filled.uri, {"sec": 4_000_000_000, "ord": 1})
    assert found.status == "fail"
    assert "2096-10-02T07:06:40Z (4000000000:1), lies ahead of the newest operation" in found.message


def test_offsets_without_a_place(filled: Filled) -> None:
    assert _position(filled.uri, {"sec": 0, "ord": 0, "initsync": True}).message == "a snapshot is to be taken"
    assert _position(filled.uri, {"sec": "nonsense"}).status == "fail"
    away = {"mongodb_server_selection_timeout_ms": 300}
    assert _position("mongodb://127.0.0.1:1/?replicaSet=x", filled.lost, **away).status == "fail"


def test_the_command_looks_at_the_state_and_ends_with_3(filled: Filled, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": filled.uri})
    command = [sys.executable, "-m", "cdckit", "validate", "--connect", str(pipeline.written())]

    def validated() -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, capture_output=True, text=True, check=False)

    new = validated()
    assert (new.returncode, "position" in new.stdout) == (0, False), new.stdout
    state = open_state(state_in(pipeline.state))
    state.save_offset(filled.lost)
    state.close()
    lost = validated()
    assert lost.returncode == 3
    assert re.search(r"fail source: position: .* is gone from the oplog", lost.stdout)
