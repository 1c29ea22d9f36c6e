"""Rows that a table refuses which Spark's driver writes by delta-rs: kept once, the others there once, and replayed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema

from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.store import QuarantineStore
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import RowsRefusedError, StateError
from spark.checkpoints import forget_commit
from spark.quarantined import replayed, set_aside
from spark.script import Script

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

TABLE = "script.shop.customers"
UNWRAP = ({"type": "ExtractNewRecordState"},)
CHECK, NULL = "constraint 'positive' (id > 0) does not hold", "column 'name' takes no null"
STRICT = pa.schema([pa.field("id", pa.int32()), pa.field("name", pa.string(), nullable=False)])


def _table(folder: Path, table: str = TABLE) -> DeltaTable:
    return DeltaTable(str(folder / "lake" / table))


def _rows(folder: Path, table: str = TABLE) -> list[tuple[int, str]]:
    rows = _table(folder, table).to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["name"]) for row in rows)


def _piped(script: Script, folder: Path, mode: str, *, waits: bool = False, **how: Any) -> ResolvedPipeline:
    pipeline = script.pipeline(folder / "state", "delta", path=folder / "lake", mode=mode, **how)
    kept = ErrorHandling("quarantine", folder=folder / "quarantine", later_changes="wait" if waits else "pass")
    return replace(pipeline, errors=kept)


@pytest.fixture
def changelog(script: Script, tmp_path: Path) -> ResolvedPipeline:
    """Into a table that somebody has made before, which asks something of its rows."""
    table = DeltaTable.create(str(tmp_path / "lake" / TABLE), Schema.from_arrow(STRICT))
    table.alter.add_constraint({"positive": "id > 0"})
    return _piped(script, tmp_path, "changelog", transforms=UNWRAP)


def _changes(script: Script, names: dict[int, str | None]) -> None:
    for number, name in names.items():
        script.change("c", {"id": number, "name": name})
        script.change("c", {"id": number, "name": "anything"}, table="others")


def test_what_a_changelog_refuses_is_kept_once_and_all_else_is_there_once(
    script: Script, tmp_path: Path, changelog: ResolvedPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a snapshot, too, and where the same batch comes once more."""
    monkeypatch.setattr(SparkRunner, "_take_back", lambda *_: None)  # as if it were killed
    script.row({"id": -1, "name": "a"})
    script.row({"id": 10, "name": "b"})
    _changes(script, {0: "a", 1: "b", 2: None, 3: "c"})
    runner = SparkRunner(changelog)
    runner.run(once=True)
    forget_commit(tmp_path / "state")
    SparkRunner(changelog).run(once=True)
    kept = set_aside(changelog)
    assert [(stage, by) for stage, by, _ in kept] == [("write", "delta")] * 3
    assert Counter(said for _, _, said in kept) == Counter([CHECK, CHECK, NULL])
    assert dict(runner.figures.faults.quarantined) == {"write": 3}
    assert _rows(tmp_path) == [(1, "b"), (3, "c"), (10, "b")]
    assert [number for number, _ in _rows(tmp_path, "script.shop.others")] == [0, 1, 2, 3]


def test_it_is_replayed_and_a_replay_that_is_killed_behind_a_commit_adds_no_row_twice(
    script: Script, tmp_path: Path, changelog: ResolvedPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    _changes(script, {-2: "a", 1: "b", 2: None, -3: "c"})
    SparkRunner(changelog).run(once=True)
    assert sorted(replayed(changelog)) == sorted([CHECK, NULL, CHECK])
    assert _rows(tmp_path) == [(1, "b")]
    _table(tmp_path).alter.drop_constraint("positive")

    def dies(*_: Any) -> None:
        raise StateError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(QuarantineStore, "remove", dies)
        with pytest.raises(StateError, match="killed"):
            replayed(changelog)
    assert _rows(tmp_path) == [(-3, "c"), (-2, "a"), (1, "b")]
    assert sorted(replayed(changelog)) == ["", "", NULL]
    assert _rows(tmp_path) == [(-3, "c"), (-2, "a"), (1, "b")]
    assert [said for _, _, said in set_aside(changelog)] == [NULL]


def test_without_a_quarantine_it_stops_the_pipeline_or_is_left_out(
    script: Script, tmp_path: Path, changelog: ResolvedPipeline
) -> None:
    _changes(script, {-1: "a", 1: "b"})
    with pytest.raises(RowsRefusedError, match=TABLE):
        SparkRunner(replace(changelog, errors=ErrorHandling())).run(once=True)
    runner = SparkRunner(replace(changelog, errors=ErrorHandling("all")))
    runner.run(once=True)
    assert dict(runner.figures.faults.left_out) == {"write": 1}
    assert _rows(tmp_path) == [(1, "b")]


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_a_table_of_rows_is_right_again_once_what_it_refused_was_replayed(
    script: Script, tmp_path: Path, mode: str
) -> None:
    def rows() -> list[tuple[int, str]]:
        found = _table(tmp_path).to_pyarrow_table().to_pylist()
        return sorted((row["id"], row["name"]) for row in found if row.get("__end_position") is None)

    pipeline = _piped(script, tmp_path, mode, waits=True)
    for number, name in {1: "x", 2: "y"}.items():
        script.change("c", {"id": number, "name": name})
    SparkRunner(pipeline).run(once=True)
    _table(tmp_path).alter.add_constraint({"good": "name NOT LIKE 'bad%'"})
    script.change("u", {"id": 1, "name": "one"}, {"id": 1, "name": "x"})
    script.change("u", {"id": 2, "name": "bad"}, {"id": 2, "name": "y"})
    script.change("c", {"id": 3, "name": "bad3"})
    SparkRunner(pipeline).run(once=True)
    assert rows() == [(1, "one"), (2, "y")]
    script.change("u", {"id": 2, "name": "two"}, {"id": 2, "name": "bad"})
    SparkRunner(pipeline).run(once=True)
    assert rows() == [(1, "one"), (2, "y")]
    assert Counter(stage for stage, _, _ in set_aside(pipeline)) == {"write": 2, "wait": 1}
    _table(tmp_path).alter.drop_constraint("good")
    assert replayed(pipeline) == [""] * 3
    assert rows() == [(1, "one"), (2, "two"), (3, "bad3")]
