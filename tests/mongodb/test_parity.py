"""Every event equal to Debezium's recordings, on a live replica set, with the connector's configuration as it is."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest

from cdckit.config.loading import load_pipeline
from cdckit.runners.direct import DirectRunner
from mongodb import workload
from mysql.recordings import DATA, ByTopic, by_topic, read_events, recorded
from servers.mongodb import MongoReplicaSet

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


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_events_equal_the_recording(scenario: str, tmp_path: Path, mongo: MongoReplicaSet) -> None:
    target = "mongo60-3.6.3"
    configuration = DATA / target / scenario / "conf.properties"
    with mongo.client() as client:
        for part, work in (("snapshot", workload.set_up), ("stream", workload.change)):
            work(client)
            events = _run(configuration, mongo, tmp_path / f"{part}.jsonl", tmp_path / "state")
            _assert_same(_comparable(recorded(target, scenario, part)), _comparable(events))


def _comparable(events: ByTopic) -> ByTopic:
    """Heartbeats come by the clock."""
    return {topic: lines for topic, lines in events.items() if not topic.startswith("__debezium-heartbeat")}


def _run(configuration: Path, mongo: MongoReplicaSet, output: Path, state: Path) -> ByTopic:
    overrides = [f"sink.path={output}", f"state={state}", f"source.mongodb.connection.string={mongo.uri}"]
    pipeline = load_pipeline(configuration, overrides, runner="direct", sink="file")
    DirectRunner(pipeline).run(once=True)
    return by_topic(read_events(output))


def _assert_same(expected: ByTopic, found: ByTopic) -> None:
    assert sorted(found) == sorted(expected)
    for topic, events in expected.items():
        difference = list(difflib.unified_diff(events, found[topic], "recorded", "found", n=0, lineterm=""))
        assert not difference, f"{topic}:\n" + "\n".join(difference[:8])
