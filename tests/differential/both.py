"""Runs this project's capture and a live Debezium's over the same random workloads, and compares their events."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from operator import itemgetter
from pathlib import Path
from typing import Any, Protocol

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from differential.debezium import CHANGED, libraries
from mysql.recordings import HEARTBEATS, Event, by_topic, read_events
from testkit.servers.java import ensure_java
from testkit.servers.process import end, spawn, tail

PROGRAM = Path(__file__).parent / "debezium.py"
SECONDS = 120
AT_ONCE = 3
"""So many captures does the peer take at a time."""
_LONG_NUMBER = re.compile(r"-?\d+\.\d{14,}(E[+-]?\d+)?")

Overrides = Callable[[int], list[str]]
"""The options of this project's capture that are not the peer's, for a seed."""

Comparable = Callable[[Iterable[Event]], Iterable[Event]]
"""Events without what is meant to differ."""


class Changes(Protocol):
    """What happens in a database."""

    def change(self, steps: int) -> None:
        """Random changes."""

    def end(self) -> None:
        """The mark behind everything."""


def run_both(
    folder: Path,
    workloads: Sequence[Changes],
    steps: int,
    overrides: Overrides = lambda _: [],
    jars: Path | None = None,
) -> None:
    """Both take their snapshots, and then read what has changed.

    Args:
        folder: has the options of each capture, `SEED.properties`; the events come beside them, as `SEED.own.jsonl`
            and `SEED.peer.jsonl`.
        workloads: of all these captures.
        steps: how many changes each makes.
        overrides: options of this project's captures.
        jars: the peer's; None: those of today.
    """
    log = folder / "peer.log"
    program: list[str | Path] = [sys.executable, PROGRAM, folder, jars or libraries() or ""]
    peer = spawn(program, log, env={"JAVA_HOME": str(ensure_java().resolve().parents[1])})
    try:
        _capture(folder, overrides)
        _wait_for(peer, log, lambda: log.read_text().count("\nsnapshot of ") == len(workloads))
        for workload in workloads:
            workload.change(steps)
            workload.end()
        (folder / CHANGED).touch()
        _capture(folder, overrides)
        _wait_for(peer, log, lambda: peer.poll() is not None)
        assert peer.returncode == 0, tail(log)
    finally:
        end(peer, grace=1)


def _wait_for(peer: subprocess.Popen[bytes], log: Path, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert not peer.poll(), tail(log)
        assert time.monotonic() < deadline, tail(log)
        time.sleep(0.1)


def _capture(folder: Path, overrides: Overrides) -> None:
    """Reads each database as far as it goes."""
    for configuration in folder.glob("*.properties"):
        output = configuration.with_suffix(".own.jsonl")
        state = configuration.with_suffix(".state")
        own = [f"sink.path={output}", f"state={state}", "serializer.header.format=json"]
        options = own + overrides(int(configuration.stem))
        DirectRunner(load_pipeline(configuration, options, runner="direct", sink="file")).run(once=True)


def assert_equal(folder: Path, seed: int, more_than: int, comparable: Comparable = lambda events: events) -> None:
    """Every event of a seed is equal, and there are more than so many.

    Args:
        folder: has the events.
        seed: the seed.
        more_than: so many.
        comparable: leaves out more that is meant to differ.
    """
    expected, found = (
        by_topic(comparable(map(_plain, read_events(folder / f"{seed}.{whose}.jsonl")))) for whose in ("peer", "own")
    )
    expected = {topic: events for topic, events in expected.items() if not topic.startswith(HEARTBEATS)}
    assert sorted(found) == sorted(expected)
    assert sum(map(len, expected.values())) > more_than
    for topic, events in expected.items():
        for number, (one, other) in enumerate(_pairs(topic, events, found[topic]), 1):
            different = list(differences(json.loads(one), json.loads(other)))
            assert not different, f"{topic}, event {number}:\n" + "\n".join(different[:20])


def _pairs(topic: str, expected: list[str], found: list[str]) -> Iterator[tuple[str, str]]:
    """The events of a topic side by side; the peer ends with its last row, others' transactions may follow."""
    if topic.endswith(".transaction"):
        return zip(expected, found, strict=False)
    return zip_longest(expected, found, fillvalue="null")


def _plain(event: Event) -> Event:
    """An event without what is meant to differ.

    A truncation or another statement has no row; Debezium shows the number of the last row before it. The tables of a
    transaction stand in the order of their first events; Debezium's order is that of a Java HashMap.
    """
    payload = event["value"] and event["value"].get("payload", event["value"])
    if payload and (payload.get("op") == "t" or "tableChanges" in payload):
        payload["source"]["row"] = 0
    if payload and payload.get("data_collections"):
        payload["data_collections"].sort(key=itemgetter("data_collection"))
    return event


def differences(expected: Any, found: Any, path: str = "") -> Iterator[str]:
    """What is not equal in two JSON values, the order of members included, a line each."""
    if isinstance(expected, dict) and isinstance(found, dict) and list(expected) == list(found):
        for name, member in expected.items():
            yield from differences(member, found[name], f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif expected != found and not _same_float(expected, found):
        yield f"{path}: Debezium has {json.dumps(expected)}, found {json.dumps(found)}"


def _same_float(one: Any, other: Any) -> bool:
    """Java prints more digits of a number than it takes, before its version 19, also in documents' texts."""
    if isinstance(one, str) and isinstance(other, str):
        return _shortest(one) == _shortest(other)
    return isinstance(one, float) and isinstance(other, float) and struct.pack("<f", one) == struct.pack("<f", other)


def _shortest(text: str) -> str:
    """A text with as few digits in its numbers as tell them from others."""
    return _LONG_NUMBER.sub(lambda found: repr(float(found[0])), text)
