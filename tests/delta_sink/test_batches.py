"""Which records a table takes of those that come again, and what is refused before a pipeline runs."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake.exceptions import DeltaError

from cdckit.api.record import Record
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.engine.state.table_batches import KEPT_AS, TableBatches
from cdckit.errors import StateError
from cdckit.tables.delta.passing import passes
from cdckit.tables.direct import BegunBatch
from cdckit.tables.lake.written import Written
from cdckit_delta.config import DeltaConfig
from testkit.running import PASSWORD, Pipeline


def records(*positions: str, topic: str = "t") -> list[Record]:
    return [Record(topic, None, None, position=position) for position in positions]


def taken(written: Written, *positions: str, topic: str = "t") -> list[str]:
    return [record.position for record in written.records(records(*positions, topic=topic))]


def test_a_table_takes_what_it_lacks() -> None:
    begun = [BegunBatch(7, {"": "b"}), BegunBatch(8, {"": "d"})]
    last = {"behind": 6, "between": 7, "done": 8, "new": None}
    written = Written(begun, last.get)
    assert taken(written, "a", "c", "e", topic="behind") == ["a", "c", "e"]
    assert taken(written, "a", "b", "c", "e", topic="between") == ["c", "e"]
    assert taken(written, "c", "d", "e", topic="done") == ["e"]
    assert taken(written, "a", topic="new") == ["a"]


def test_positions_of_another_lane_say_nothing() -> None:
    written = Written([BegunBatch(1, {"0": "0@5"})], {"t": 1}.get)
    assert taken(written, "0@4", "0@6", "1@1") == ["0@6", "1@1"]


def test_of_a_planned_batch_a_table_has_all_or_nothing() -> None:
    written = Written([BegunBatch(3, None)], {"t": 3, "u": 2}.get)
    assert taken(written, "a", "z") == []
    assert taken(written, "a", "z", topic="u") == ["a", "z"]


def test_where_positions_are_another_servers_it_counts_which_batches_hold_a_record() -> None:
    last = {"behind": 6, "between": 7, "done": 8, "read": 9}
    written = Written([BegunBatch(7, {"": "9b"}), BegunBatch(8, {"": "9d"}), BegunBatch(9, None)], last.get)
    written.held = {"a": [7, 8], "c": [8]}
    assert taken(written, "a", "b", "c", "d", topic="behind") == ["a", "b", "c", "d"]
    assert taken(written, "a", "b", "c", "d", topic="between") == ["b", "c", "d"]
    assert taken(written, "a", "b", "c", "d", topic="done") == ["b", "d"]
    assert taken(written, "a", "b", "c", "d", topic="read") == []
    written.held = {}
    assert taken(written, "e", topic="done") == ["e"]


def test_the_state_keeps_where_batches_end(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        batches = TableBatches(state, {"at": 1})
        batches.begin({"": "b"}, {"at": 2})
        batches.begin({"": "c"})
        again = TableBatches(state, {"at": 1})
        assert again.begun == [BegunBatch(1, {"": "b"}, {"at": 2}), BegunBatch(2, {"": "c"})]
        assert again.ends == {1: {"at": 2}}
        kept = state.get(KEPT_AS)
        state.put(KEPT_AS, {**kept, "begun": [[1, {"": "b"}], [2, None]]})  # as older versions left it
        assert TableBatches(state, {"at": 1}).begun == [BegunBatch(1, {"": "b"}), BegunBatch(2, None)]


def test_the_state_keeps_where_rows_of_chunks_went_until_an_offset_is_saved_behind_them(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        batches = TableBatches(state, {"at": 1})
        batches.begin({"": "c"}, {"at": 3}, {"u", "t"})
        assert TableBatches(state, {"at": 1}).begun == [BegunBatch(1, {"": "c"}, {"at": 3}, ("t", "u"))]
        batches.saving({"at": 2}, {"": "b"})
        without = [BegunBatch(1, {"": "c"}, {"at": 3})]
        assert TableBatches(state, {"at": 2}).begun == without
        batches.saved({"at": 2}, {"": "b"})
        assert batches.begun == without


def test_what_has_come_again_is_behind_whatever_its_positions_are(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        TableBatches(state, None).begin({"": "9z"}, {"at": "elsewhere"})
        again = TableBatches(state, None)
        again.came()
        again.begin({"": "1a"}, {"at": 1})
        again.saving({"at": 1}, {"": "1a"})
        again.saved({"at": 1}, {"": "1a"})
        assert (again.begun, TableBatches(state, {"at": 1}).begun) == ([], [])


def test_what_has_come_and_comes_again_is_known_by_its_positions(tmp_path: Path) -> None:
    """As where a sink was away behind a failover, and the log is read anew where it was read at first."""
    with closing(SqliteStateStore(tmp_path)) as state:
        TableBatches(state, None).begin({"": "1c"}, {"at": 3})
        again = TableBatches(state, None)
        again.came()
        again.comes_again()
        again.saving({"at": 1}, {"": "1a"})
        again.saved({"at": 1}, {"": "1a"})
        assert again.begun == TableBatches(state, {"at": 1}).begun == [BegunBatch(1, {"": "1c"}, {"at": 3})]


def test_batches_are_known_until_the_offset_behind_them_is_saved(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        first = TableBatches(state, {"at": 1})
        assert (first.begin({"": "b"}), first.begin({"": "d"})) == (1, 2)
        again = TableBatches(state, {"at": 1})
        assert again.begun == [BegunBatch(1, {"": "b"}), BegunBatch(2, {"": "d"})]
        assert again.generation == first.generation
        again.saved({"at": 2}, {"": "d"})
        later = TableBatches(state, {"at": 2})
        assert (later.begun, later.begin({"": "e"})) == ([], 3)


def test_a_batch_is_known_until_the_saved_offset_has_passed_its_end(tmp_path: Path) -> None:
    """A killed process's batch reached further than the first one of the process behind it."""
    with closing(SqliteStateStore(tmp_path)) as state:
        TableBatches(state, None).begin({"": "m"})
        again = TableBatches(state, None)
        again.begin({"": "c"})
        again.saving({"at": 1}, {"": "c"})
        both = [BegunBatch(1, {"": "m"}), BegunBatch(2, {"": "c"})]
        assert TableBatches(state, None).begun == TableBatches(state, {"at": 1}).begun == both
        again.saved({"at": 1}, {"": "c"})
        assert again.begun == both[:1]
        again.begin({"": "p"})
        assert TableBatches(state, {"at": 1}).begun == [both[0], BegunBatch(3, {"": "p"})]
        again.saved({"at": 2}, {"": "p"})
        assert (again.begun, TableBatches(state, {"at": 2}).begun) == ([], [])


def test_a_plan_holds_until_it_is_done(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        TableBatches(state, None).plan({"at": 9})
        again = TableBatches(state, None)
        assert again.planned_end == {"at": 9}
        again.begin(None)
        again.saved({"at": 9}, {})
        assert TableBatches(state, {"at": 9}).planned_end is None
        assert TableBatches(state, None).planned_end is None  # the offset was reset: nothing of before counts
        before = again.generation
        again.begin_anew()
        assert TableBatches(state, None).generation not in ("", before)


def test_a_damaged_note_is_told(tmp_path: Path) -> None:
    with closing(SqliteStateStore(tmp_path)) as state:
        for part in ({"number": "x"}, {"number": 1, "starts": [None], "begun": [[1, {}, "x"]], "end": None}):
            state.put(KEPT_AS, {"generation": "g", **part})
            with pytest.raises(StateError, match="batches of tables"):
                TableBatches(state, None)


def test_options_of_a_store_are_secrets() -> None:
    options: dict[str, Any] = {"path": "s3://b/l", "storage.options.AWS_SECRET_ACCESS_KEY": PASSWORD}
    config, _ = DeltaConfig.load({**options, "storage.options.AWS_ALLOW_HTTP": True}, "sink")
    assert PASSWORD not in repr(config) and PASSWORD not in str(config.model_dump())
    assert config.storage == {"AWS_SECRET_ACCESS_KEY": PASSWORD, "AWS_ALLOW_HTTP": "true"}


def test_a_sink_that_writes_without_spark_alone_is_refused_there(tmp_path: Path) -> None:
    source = {"type": "mysql", "topic.prefix": "p", "database.hostname": "h", "database.user": "u"}
    sink = {"type": "delta", "path": str(tmp_path / "lake")}
    pipeline = Pipeline(tmp_path, source, sink, {"runner": "spark"}).resolved()
    assert unmet_requirements(pipeline) == []
    alone = replace(pipeline.sink, registration=replace(pipeline.sink.registration, on_spark=None))
    assert unmet_requirements(replace(pipeline, sink=alone)) == [
        "sink.type: 'delta' writes from one process: set 'runner: direct' (--runner direct)"
    ]


def test_an_answer_that_is_cut_off_is_no_lasting_fault() -> None:
    """As delta-rs told it of a store that was killed in mid-answer."""
    cut = (
        "Kernel error -> Generic S3 error: Error getting list response body: HTTP error: request or response body "
        "error: error reading a body from connection: end of file before message length reached"
    )
    assert passes(DeltaError(cut))
    assert not passes(DeltaError("Generic S3 error: Server returned non-2xx status code: 403 Forbidden"))
