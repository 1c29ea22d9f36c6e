"""Every event equal to Debezium's recordings, on a live replica set, with the connector's configuration as it is."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from mongodb import workload
from mysql.recordings import DATA, HEARTBEATS, JSON_HEADERS, ByTopic, Event, by_topic, recorded, take_events
from testkit.servers.mongodb import OLDEST, MongoReplicaSet

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


OLD = "mongo60-1.9.7"
OLD_SCENARIOS = ("default", "default-schema", "mode-change_streams", "unwrap")
RECORDED = [
    *(("mongo60-3.6.3", scenario) for scenario in SCENARIOS),
    *((OLD, scenario) for scenario in OLD_SCENARIOS),
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
            events = _run(target, configuration, mongo, tmp_path / "out.jsonl", tmp_path / "state")
            if target == OLD:
                events = list(map(_without_its_headers, events))
            same = _without_old_marks if (target, part) == (OLD, "snapshot") else str
            _assert_same(_comparable(same, recorded(target, scenario, part)), _comparable(same, by_topic(events)))


def _comparable(same: Callable[[str], str], events: ByTopic) -> ByTopic:
    """Heartbeats come while a stream is followed: `test_heartbeats.py` compares them."""
    return {topic: list(map(same, lines)) for topic, lines in events.items() if not topic.startswith(HEARTBEATS)}


def _without_old_marks(line: str) -> str:
    """An event of a 1.9 snapshot without what is not told here, or not the same each time there.

    `stxnid` was that of the oplog's newest entry, whosever it was, and the oplog is not read here. The last collection
    was the last of the last database, in an order which the server changes from run to run.
    """
    return re.sub(r'"stxnid": (null|"[^"]*")|"snapshot": "(last|true)"', "", line)


def _without_its_headers(event: Event) -> Event:
    """The recorder of 1.9.7 could not read headers; there is the one that the transform adds to a document."""
    value = event["value"] and event["value"].get("payload", {})
    told = [value["__op"]] if value and "__op" in value else []
    assert [header["value"]["payload"] for header in event["headers"] if header["key"] == "__op"] == told
    assert {header["key"] for header in event["headers"]} <= {"__op", "__cdckit.position"}
    return {**event, "headers": []}


def _run(target: str, configuration: Path, mongo: MongoReplicaSet, output: Path, state: Path) -> list[Event]:
    overrides = [JSON_HEADERS, f"sink.path={output}", f"state={state}"]
    if target == OLD:
        overrides += [f"source.mongodb.hosts=rs0/{mongo.nodes[0].address}", "source.event.format=1.9"]
        if "transforms" in configuration.read_text():
            overrides.append("transforms.u.event.format=1.9")
    else:
        overrides.append(f"source.mongodb.connection.string={mongo.uri}")
    pipeline = load_pipeline(configuration, overrides, runner="direct", sink="file")
    DirectRunner(pipeline).run(once=True)
    return take_events(output)


def _assert_same(expected: ByTopic, found: ByTopic) -> None:
    assert sorted(found) == sorted(expected)
    for topic, events in expected.items():
        difference = list(difflib.unified_diff(events, found[topic], "recorded", "found", n=0, lineterm=""))
        assert not difference, f"{topic}:\n" + "\n".join(difference[:8])
