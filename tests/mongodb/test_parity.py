"""Every event equal to Debezium's recordings, on a live replica set, with the connector's configuration as it is."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit.config.loading import load_pipeline
from cdckit.runners.direct import DirectRunner
from mongodb import workload
from mysql.recordings import DATA, ByTopic, by_topic, read_events, recorded
from servers.mongodb import OLDEST, MongoReplicaSet

SCENARIOS = (
    "default",
    "default-schema",
    "filters",
    "filters-rename",
    "mode-change_streams",
    "mode-update_full",
    "mode-update_full_post_image",
    "mode-update_full_with_pre_image",
    "mode-with_pre_image",
    "txmeta",
    "heartbeat",
    "outbox",
    "unwrap",
    "unwrap-flatten",
    "unwrap-types",
)


OLD_SCENARIOS = ("default", "default-schema", "mode-change_streams")
RECORDED = [
    *(("mongo60-3.6.3", scenario) for scenario in SCENARIOS),
    *(("mongo60-1.9.7", scenario) for scenario in OLD_SCENARIOS),
]


@pytest.mark.parametrize(("target", "scenario"), RECORDED)
def test_events_equal_the_recording(target: str, scenario: str, tmp_path: Path, mongo: MongoReplicaSet) -> None:
    _assert_equal_to_the_recording(target, scenario, tmp_path, mongo)


@pytest.fixture(scope="module")
def oldest_mongo() -> Iterator[MongoReplicaSet]:
    with MongoReplicaSet(version=OLDEST) as replica_set:
        yield replica_set


@pytest.mark.nightly
@pytest.mark.parametrize(("target", "scenario"), RECORDED)
def test_an_older_server_gives_the_same(
    target: str, scenario: str, tmp_path: Path, oldest_mongo: MongoReplicaSet
) -> None:
    with oldest_mongo.client() as client:
        assert client.server_info()["version"] == OLDEST
    _assert_equal_to_the_recording(target, scenario, tmp_path, oldest_mongo)


def _assert_equal_to_the_recording(target: str, scenario: str, tmp_path: Path, mongo: MongoReplicaSet) -> None:
    configuration = DATA / target / scenario / "conf.properties"
    with mongo.client() as client:
        for part, work in (("snapshot", workload.set_up), ("stream", workload.change)):
            work(client)
            events = _run(target, configuration, mongo, tmp_path / f"{part}.jsonl", tmp_path / "state")
            _assert_same(_comparable(target, recorded(target, scenario, part)), _comparable(target, events))


def _comparable(target: str, events: ByTopic) -> ByTopic:
    """Heartbeats come by the clock; in 1.9 any collection may be last, and its `stxnid` is not told."""
    ignored = r'"stxnid": (null|"[^"]*")|"snapshot": "(last|true)"' if target.endswith("1.9.7") else "$^"
    return {
        topic: [re.sub(ignored, "", line) for line in lines]
        for topic, lines in events.items()
        if not topic.startswith("__debezium-heartbeat")
    }


def _run(target: str, configuration: Path, mongo: MongoReplicaSet, output: Path, state: Path) -> ByTopic:
    servers = f"source.mongodb.connection.string={mongo.uri}"
    if target.endswith("1.9.7"):
        servers = f"source.mongodb.hosts=rs0/{mongo.nodes[0].address}"
    overrides = [f"sink.path={output}", f"state={state}", servers]
    if target.endswith("1.9.7"):
        overrides.append("source.event.format=1.9")
    pipeline = load_pipeline(configuration, overrides, runner="direct", sink="file")
    DirectRunner(pipeline).run(once=True)
    return by_topic(read_events(output))


def _assert_same(expected: ByTopic, found: ByTopic) -> None:
    assert sorted(found) == sorted(expected)
    for topic, events in expected.items():
        difference = list(difflib.unified_diff(events, found[topic], "recorded", "found", n=0, lineterm=""))
        assert not difference, f"{topic}:\n" + "\n".join(difference[:8])
