"""MongoDB pipelines killed at random instants: nothing is missing, each document's order holds."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pymongo import MongoClient
from pymongo.client_session import ClientSession

from cdckit_mongodb.offsets import StreamOffset, moment_text
from crash.journal import TOMBSTONE, Change, Journal, Key
from running import Pipeline, Running, to_file
from servers.mongodb import MongoReplicaSet

SIZES = {"a": 3000, "b": 3000, "large": 101_000}
"""How many documents there are before the first pipeline; the last collection is large enough to be read in order."""
LARGE_TRANSACTION = 1500
"""Far more than a batch holds."""
LONGEST_RUN = 1.5
"""How many seconds a streaming pipeline lives at the most."""


class Delivered(NamedTuple):
    """A record that has arrived: what it says of which document, and where that stands in commit order."""

    key: Key
    change: Change
    position: str


class Writer:
    """Commits transactions until its context ends; each token is written once, and no `_id` comes back."""

    def __init__(self, client: MongoClient[dict[str, Any]], database: str, journal: Journal, seed: int) -> None:
        self._random = random.Random(seed)
        self._client = client
        self._database = client[database]
        self._journal = journal
        self._tokens = (f"t{number}" for number in count())
        self._alive: dict[str, list[int]] = {}
        self._new = count(max(SIZES.values()))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._write)
        for name, size in SIZES.items():
            self._begin(name, size)

    def _begin(self, name: str, size: int) -> None:
        found = [{"_id": number, "token": next(self._tokens)} for number in range(size)]
        self._journal.commits(
            [(Key(name, (number,)), Change("c", str(one["token"]))) for number, one in enumerate(found)]
        )
        self._database[name].insert_many(found)
        self._alive[name] = list(range(size))

    def _write(self) -> None:
        with self._client.start_session() as session:
            for number in count(1):
                if self._ended.wait(0.003):
                    return
                self._transaction(session, LARGE_TRANSACTION if number % 200 == 0 else self._random.randint(1, 5))

    def _transaction(self, session: ClientSession, operations: int) -> None:
        with session.start_transaction():
            changes = [self._change(session, self._random.choice(list(SIZES))) for _ in range(operations)]
            self._journal.commits(changes)

    def _change(self, session: ClientSession, name: str) -> tuple[Key, Change]:
        collection, alive, token = self._database[name], self._alive[name], next(self._tokens)
        kind = self._random.random()
        if kind < 0.2:
            alive.append(next(self._new))
            collection.insert_one({"_id": alive[-1], "token": token}, session=session)
            return Key(name, (alive[-1],)), Change("c", token)
        # the newest more often than others, so that some documents change many times
        place = -self._random.randint(1, 20) if self._random.random() < 0.5 else self._random.randrange(len(alive))
        if kind < 0.3:
            number = alive.pop(place)
            collection.delete_one({"_id": number}, session=session)
            return Key(name, (number,)), Change("d")
        collection.update_one({"_id": alive[place]}, {"$set": {"token": token}}, session=session)
        return Key(name, (alive[place],)), Change("u", token)

    def __enter__(self) -> Writer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


class Kills:
    """Runs of one pipeline, each of which is killed.

    Attributes:
        known: how many changes of each document there were when the first place was noted.
        killed_in: what each run was doing.
    """

    def __init__(self, pipeline: Pipeline, journal: Journal, chance: random.Random) -> None:
        self.known: dict[Key, int] = {}
        self.killed_in: list[str] = []
        self._pipeline = pipeline
        self._journal = journal
        self._random = chance

    def in_snapshot(self) -> None:
        """Kills a run after a random part of the documents that were left has arrived."""
        before = _lines(self._pipeline.output)
        wanted = self._random.uniform(0.01, 0.6) * max(0, sum(SIZES.values()) - before)
        with self._run() as process:
            process.wait_until(lambda: _lines(self._pipeline.output) - before >= wanted)

    def in_stream(self) -> None:
        """Kills a run after a random time, the first one once its snapshot is over."""
        with self._run() as process:
            process.wait_until(self._past_snapshot, "the end of the snapshot")
            time.sleep(self._random.uniform(0, LONGEST_RUN))

    @contextmanager
    def _run(self) -> Iterator[Running]:
        saved, lines = self._pipeline.offset(), _lines(self._pipeline.output)
        with self._pipeline.running() as process:
            if not self.known:
                process.wait_for("snapshot from")
                self.known = self._journal.lengths()
            yield process
            process.kill()
        self.killed_in.append("stream" if self._past_snapshot() else "snapshot")
        if saved is not None and not saved.get("initsync"):
            done = moment_text(StreamOffset.from_json(saved).moment)
            again = [one for one in _delivered(self._pipeline.output, lines) if one.position[: len(done)] <= done]
            assert again == [], f"comes again, although {saved} was saved"

    def _past_snapshot(self) -> bool:
        offset = self._pipeline.offset()
        return offset is not None and not offset.get("initsync")


@pytest.mark.timeout(1800)
def test_nothing_is_lost_or_out_of_order(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, nightly: bool
) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
        "capture.mode": "change_streams",
        "max.batch.size": 300,
    }
    pipeline, journal = to_file(tmp_path, source, **{"offset.flush.interval.ms": 50}), Journal()
    kills = Kills(pipeline, journal, random.Random(seed))
    with mongo.client() as client:
        with Writer(client, unique_name, journal, seed):
            for _ in range(10 if nightly else 1):
                kills.in_snapshot()
            for _ in range(20 if nightly else 2):
                kills.in_stream()
        ended = pipeline.run("--once")
        assert ended.code == 0, ended.stderr
        print(f"killed in: {', '.join(kills.killed_in)}")
        assert "snapshot" in kills.killed_in
        _assert_complete(journal.changes(), list(_delivered(pipeline.output)), kills.known)
        client.drop_database(unique_name)


def _assert_complete(
    committed: Mapping[Key, Sequence[Change]], delivered: Sequence[Delivered], known: Mapping[Key, int]
) -> None:
    """The stream's records of each document are its last changes; what comes before them, the snapshot shows.

    Args:
        committed: each document's changes.
        delivered: all records.
        known: how many changes of each document may lie before the place that the stream begins at.
    """
    read: dict[Key, list[str | None]] = defaultdict(list)
    streamed: dict[Key, dict[str, Change]] = defaultdict(dict)
    for record in delivered:
        if record.change.op == "r":
            read[record.key].append(record.change.token)
        else:
            first = streamed[record.key].setdefault(record.position, record.change)
            assert first == record.change, "one position for two records"
    assert not (read.keys() | streamed.keys()) - committed.keys(), "records of documents that never were"
    for key, changes in committed.items():
        found = streamed[key]
        begin = len(changes) - len(found)
        assert list(found) == sorted(found), f"{key}: positions do not rise: {list(found)}"
        assert list(found.values()) == changes[begin:], f"{key}: {list(found.values())} of {changes}"
        assert begin <= known.get(key, 0), f"{key}: begins without {changes[known.get(key, 0) : begin]}"
        # a snapshot shows each document as it is when it is read, which is after the stream's beginning
        states = [change.token for change in changes[max(0, begin - 1) :] if change.op in ("c", "u")]
        assert set(read[key]) <= set(states), f"{key}: the snapshot shows {read[key]}, not one of {states}"
        assert read[key] or begin == 0 or TOMBSTONE in changes, f"{key}: the snapshot does not show it"


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _delivered(path: Path, first: int = 0) -> Iterator[Delivered]:
    """The file's records from a line on; the last line may be broken off."""
    for line in path.read_bytes().splitlines(keepends=True)[first:]:
        if not line.endswith(b"\n"):
            return
        record = json.loads(line)
        headers = {header["key"]: header["value"] for header in record["headers"]}
        key = Key(record["topic"].rpartition(".")[2], (int(record["key"]["id"]),))
        yield Delivered(key, _change(record["value"]), headers["__cdckit.position"])


def _change(value: Mapping[str, Any] | None) -> Change:
    if value is None:
        return TOMBSTONE
    if value["op"] == "d":
        return Change("d")
    shown = value["updateDescription"]["updatedFields"] if value["op"] == "u" else value["after"]
    return Change(value["op"], json.loads(shown)["token"])
