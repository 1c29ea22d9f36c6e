"""Tasks read splits of the log together, and hand over what they set aside in any order: a replay has the log's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cdckit.api.record import Record
from cdckit.api.source import SourceContext
from cdckit.cli.held import held
from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.quarantine_topic import QuarantineTopic
from cdckit.engine.metrics.fault_counts import FaultCounts
from cdckit.engine.pipeline import make_source
from cdckit.engine.quarantine.entries import Entries
from cdckit.engine.quarantine.faulty import FaultyRecords
from cdckit.engine.quarantine.places import records_kept
from cdckit.engine.quarantine.replay import replay
from cdckit.engine.quarantine.store import QuarantineStore
from cdckit.engine.spark.faults import FaultInbox, TaskFaults
from cdckit.errors import TransformError
from spark.script import Script, lines
from testkit.servers.kafka import KafkaBroker

TABLE = "script.shop.customers"
UNWRAP = ({"type": "ExtractNewRecordState"},)
NO = TransformError("no")


@pytest.fixture(params=["file", "topic"])
def errors(request: pytest.FixtureRequest, tmp_path: Path, unique_name: str) -> ErrorHandling:
    """A quarantine in each of its places."""
    if request.param == "file":
        return ErrorHandling("quarantine", folder=tmp_path / "quarantine")
    broker: KafkaBroker = request.getfixturevalue("kafka_broker")
    return ErrorHandling("quarantine", topic=QuarantineTopic(f"dlq-{unique_name}", "script", broker.bootstrap, {}))


def _splits(pipeline: ResolvedPipeline, changes: int) -> list[list[Record]]:
    """The records of a batch's two splits."""
    with closing(make_source(pipeline)) as source:
        source.open(SourceContext("script"))
        parts = source.plan({"line": 0}, {"line": changes}, 2)
        return [[record for batch in source.read(part) for record in batch.records] for part in parts]


def _set_aside(pipeline: ResolvedPipeline, splits: Sequence[Sequence[Record]]) -> None:
    """Has a task set aside each split, one after the other."""
    with closing(FaultInbox(pipeline, FaultCounts(), None)) as inbox:
        for records in splits:
            task = TaskFaults(inbox.address, Entries.of(pipeline))
            task.begin()
            for record in records:
                task.record_failed(record, "transform", "number", NO)
            task.hand_over()


def _changes(script: Script) -> int:
    """Of customer 1 in both splits."""
    for op, number, name in (("c", 1, "a"), ("c", 2, "a"), ("u", 1, "b"), ("u", 1, "c"), ("c", 3, "a"), ("u", 1, "d")):
        script.change(op, {"id": number, "name": name})
    return 6


def test_what_later_splits_set_aside_first_is_replayed_in_the_order_of_the_log(
    script: Script, tmp_path: Path, errors: ErrorHandling
) -> None:
    changes, out = _changes(script), tmp_path / "out.jsonl"
    pipeline = replace(script.pipeline(tmp_path / "state", "file", path=out, transforms=UNWRAP), errors=errors)
    first, second = _splits(pipeline, changes)
    _set_aside(pipeline, [second, first])
    assert [one.number for one in records_kept(errors)] == [1, 2, 3, 4, 5, 6]
    with held(pipeline) as state:
        assert [one.record.number for one in replay(pipeline, state, lambda _: True)] == [4, 5, 6, 1, 2, 3]
    rows = [line["value"] for line in lines(out)]
    assert [(row["id"], row["name"]) for row in rows] == [(1, "a"), (2, "a"), (1, "b"), (1, "c"), (3, "a"), (1, "d")]


def test_a_mirror_has_the_newest_row_of_what_later_splits_set_aside_first(
    script: Script, tmp_path: Path, errors: ErrorHandling
) -> None:
    changes, lake = _changes(script), tmp_path / "lake"
    pipeline = script.pipeline(tmp_path / "state", "delta", path=lake, mode="mirror")
    pipeline = replace(pipeline, errors=errors)
    first, second = _splits(pipeline, changes)
    _set_aside(pipeline, [second, first])
    with held(pipeline) as state:
        assert [one.reason for one in replay(pipeline, state, lambda _: True)] == [""] * changes
    rows = DeltaTable(lake / TABLE).to_pyarrow_table().to_pylist()
    assert sorted((row["id"], row["name"]) for row in rows) == [(1, "d"), (2, "a"), (3, "a")]


def test_what_a_batch_brings_when_it_is_repeated_stands_where_it_belongs(script: Script, tmp_path: Path) -> None:
    """The driver died when it had one task's records; those that it has are not numbered anew."""
    changes, out = _changes(script), tmp_path / "out.jsonl"
    errors = ErrorHandling("quarantine", folder=tmp_path / "quarantine")
    pipeline = replace(script.pipeline(tmp_path / "state", "file", path=out, transforms=UNWRAP), errors=errors)
    first, second = _splits(pipeline, changes)
    _set_aside(pipeline, [second])
    _set_aside(pipeline, [first, second])
    with held(pipeline) as state:
        assert [one.record.number for one in replay(pipeline, state, lambda _: True)] == [4, 5, 6, 1, 2, 3]
    assert "".join(line["value"]["name"] for line in lines(out)) == "aabcad"


def test_changes_wait_for_the_first_of_their_key_whatever_is_set_aside_first(script: Script, tmp_path: Path) -> None:
    changes = _changes(script)
    errors = ErrorHandling("quarantine", folder=tmp_path / "quarantine", later_changes="wait")
    pipeline = replace(script.pipeline(tmp_path / "state", "file", path=tmp_path / "out"), errors=errors)
    first, second = _splits(pipeline, changes)
    oldest, newest, between = first[0], second[0], first[2]
    with closing(FaultInbox(pipeline, FaultCounts(), None)) as inbox:
        task, other = (TaskFaults(inbox.address, Entries.of(pipeline), waits=True) for _ in range(2))
        for record in (newest, oldest):
            task.record_failed(record, "write", "spark", NO)
        assert task.due([between]) == []
        task.hand_over()
        other.begin()
        assert other.due([between]) == []
    with closing(QuarantineStore(tmp_path / "quarantine")) as store:
        assert FaultyRecords(errors, store, FaultCounts(), Entries.of(pipeline)).due([between]) == []
