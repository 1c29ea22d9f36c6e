"""MongoDB pipelines killed at random instants: nothing is missing, each document's order holds."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cdckit_mongodb.offsets import StreamOffset, moment_text
from crash.documents import DocumentWriter, assert_documents_complete, document_records
from crash.targets import FileTarget, KafkaTarget, Target
from testkit.journal import Journal, Key
from testkit.running import Pipeline, Running
from testkit.servers.mongodb import MongoReplicaSet

SIZES = {"file": {"a": 3000, "b": 3000, "large": 101_000}, "kafka": {"a": 3000, "b": 20_000}}
"""How many documents there are before the first pipeline; `large` is large enough to be read in order."""
LONGEST_RUN = 1.5
"""How many seconds a streaming pipeline lives at the most."""


class Kills:
    """Runs of one pipeline, each of which is killed.

    Attributes:
        known: how many changes of each document there were when the first place was noted.
        killed_in: what each run was doing.
    """

    def __init__(self, pipeline: Pipeline, target: Target, journal: Journal, chance: random.Random) -> None:
        self.known: dict[Key, int] = {}
        self.killed_in: list[str] = []
        self._pipeline = pipeline
        self._target = target
        self._journal = journal
        self._random = chance

    def in_snapshot(self) -> None:
        """Kills a run after a random part of the documents that were left has arrived."""
        before = self._target.size()
        wanted = self._random.uniform(0.01, 0.6) * max(0, len(self._journal.lengths()) - before)
        with self._run() as process:
            process.wait_until(lambda: self._target.size() - before >= wanted)

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
        if self._target.in_order and saved is not None and not saved.get("initsync"):
            done = moment_text(StreamOffset.from_json(saved).moment)
            found = document_records(self._target.arrived(lines))
            again = [one for one in found if one.position[: len(done)] <= done]
            assert again == [], f"comes again, although {saved} was saved"

    def _past_snapshot(self) -> bool:
        offset = self._pipeline.offset()
        return offset is not None and not offset.get("initsync")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["file", pytest.param("kafka", marks=pytest.mark.nightly)])
def test_nothing_is_lost_or_out_of_order(
    mongo: MongoReplicaSet,
    kind: str,
    unique_name: str,
    tmp_path: Path,
    nightly: bool,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    source = {
        "type": "mongodb",
        "topic.prefix": unique_name,
        "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
        "capture.mode": "change_streams",
        "max.batch.size": 300,
    }
    target = (
        FileTarget(tmp_path) if kind == "file" else KafkaTarget(request.getfixturevalue("kafka_broker"), unique_name)
    )
    options = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 50}
    pipeline, journal = Pipeline(tmp_path, source, target.sink, options), Journal()
    kills = Kills(pipeline, target, journal, random.Random(seed))
    with mongo.client() as client:
        afterwards.callback(mongo.drop_database, unique_name)
        with DocumentWriter(client, unique_name, journal, seed, SIZES[kind]):
            for _ in range(10 if nightly else 1):
                kills.in_snapshot()
            for _ in range(20 if nightly else 2):
                kills.in_stream()
        ended = pipeline.run("--once")
        assert ended.code == 0, ended.stderr
        print(f"killed in: {', '.join(kills.killed_in)}")
        assert "snapshot" in kills.killed_in
        assert_documents_complete(journal.changes(), list(document_records(target.arrived())), kills.known)


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
