"""Rows that a table of the sink `spark` refuses when it is written: their records are kept, and replayed into it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.store import QuarantineStore
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import RowsRefusedError, SinkError, StateError
from spark.quarantined import replayed, set_aside
from spark.script import Script

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("session")]

UNWRAP = ({"type": "ExtractNewRecordState"},)
TABLE = "script.shop.customers"


def _ids(session: SparkSession, place: Path, table: str = TABLE) -> list[int]:
    return sorted(row["id"] for row in session.read.format("delta").load(str(place / table)).collect())


def _alter(session: SparkSession, place: Path, what: str) -> None:
    session.sql(f"ALTER TABLE delta.`{place}` {what}")


@pytest.fixture
def changelog(session: SparkSession, script: Script, tmp_path: Path) -> ResolvedPipeline:
    """Into a table that somebody has made before, with everything that Delta can ask of rows."""
    table = f"delta.`{tmp_path / 'lake' / TABLE}`"
    session.sql(f"CREATE TABLE {table} (id INT, name VARCHAR(5) NOT NULL) USING delta")
    session.sql(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (id > 0)")
    place, state = tmp_path / "lake", tmp_path / "state"
    pipeline = script.pipeline(state, "spark", path=place, mode="changelog", transforms=UNWRAP)
    return replace(pipeline, errors=ErrorHandling("quarantine", folder=tmp_path / "quarantine"))


NULL, LONG, CHECK = (
    "column 'name' takes no null",
    "column 'name' takes 5 characters at the most",
    "constraint 'positive' (id > 0) does not hold",
)


@pytest.mark.nightly
def test_rows_that_a_changelog_refuses_are_kept_and_all_others_are_there_once(
    session: SparkSession, script: Script, tmp_path: Path, changelog: ResolvedPipeline
) -> None:
    """Of a snapshot, too; those that were kept before the limit stopped the pipeline are not kept twice."""
    for number, text in {-1: "a", 10: "b", 11: "longer", 12: "c"}.items():
        script.row({"id": number, "name": text})
    names: dict[int, str | None] = {0: "a", 1: "b", 2: None, 3: "c", 4: "longer"}
    for number, name in names.items():
        script.change("c", {"id": number, "name": name})
        script.change("c", {"id": number, "name": "anything"}, table="others")
    limited = replace(changelog, errors=replace(changelog.errors, max_records=1))
    with pytest.raises(SinkError, match=r"the quarantine holds 1 records, and takes no more"):
        SparkRunner(limited).run(once=True)
    runner = SparkRunner(changelog)
    runner.run(once=True)
    kept = set_aside(changelog)
    assert [(stage, by) for stage, by, _ in kept] == [("write", "spark")] * 5
    assert Counter(said for _, _, said in kept) == Counter([CHECK, LONG, CHECK, NULL, LONG])
    assert dict(runner.figures.faults.quarantined) == {"write": 4}
    assert _ids(session, tmp_path / "lake") == [1, 3, 10, 12]
    assert _ids(session, tmp_path / "lake", "script.shop.others") == [0, 1, 2, 3, 4]


@pytest.mark.nightly
def test_a_replay_that_is_killed_behind_a_commit_adds_no_row_twice(
    session: SparkSession, script: Script, tmp_path: Path, changelog: ResolvedPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, name in {-2: "a", 1: "b", 2: None, -3: "c"}.items():
        script.change("c", {"id": number, "name": name})
    SparkRunner(changelog).run(once=True)
    # Of several tasks the first to end hands its records over first.
    assert sorted(said for _, _, said in set_aside(changelog)) == sorted([CHECK, NULL, CHECK])
    assert sorted(replayed(changelog)) == sorted([CHECK, NULL, CHECK])
    assert _ids(session, tmp_path / "lake") == [1]
    _alter(session, tmp_path / "lake" / TABLE, "DROP CONSTRAINT positive")

    def dies(*_: Any) -> None:
        raise StateError("killed")

    with monkeypatch.context() as patched:
        patched.setattr(QuarantineStore, "remove", dies)
        with pytest.raises(StateError, match="killed"):
            replayed(changelog)
    assert _ids(session, tmp_path / "lake") == [-3, -2, 1]
    assert sorted(replayed(changelog)) == ["", "", NULL]
    assert _ids(session, tmp_path / "lake") == [-3, -2, 1]
    assert [said for _, _, said in set_aside(changelog)] == [NULL]


@pytest.mark.nightly
def test_where_records_stop_the_pipeline_the_table_s_refusal_does(
    script: Script, changelog: ResolvedPipeline, session: SparkSession, tmp_path: Path
) -> None:
    script.change("c", {"id": -1, "name": "a"})
    script.change("c", {"id": 1, "name": "a"})
    with pytest.raises(RowsRefusedError, match=TABLE):
        SparkRunner(replace(changelog, errors=ErrorHandling())).run(once=True)
    runner = SparkRunner(replace(changelog, errors=ErrorHandling("all")))
    runner.run(once=True)
    assert dict(runner.figures.faults.left_out) == {"write": 1}
    assert _ids(session, tmp_path / "lake") == [1]


def test_a_mirror_is_equal_again_once_what_it_refused_and_what_waited_was_replayed(
    session: SparkSession, script: Script, tmp_path: Path
) -> None:
    """Of the changes of a row in one batch the newest one that the table takes is there; a bad one before it is not."""

    def rows() -> list[tuple[int, str]]:
        found = session.read.format("delta").load(str(tmp_path / "lake" / TABLE)).collect()
        return sorted((row["id"], row["name"]) for row in found)

    def change(op: str, number: int, name: str) -> None:
        row = {"id": number, "name": name}
        script.change(op, None if op == "d" else row, row if op == "d" else None)

    pipeline = script.pipeline(tmp_path / "state", "spark", path=tmp_path / "lake", mode="mirror")
    errors = ErrorHandling("quarantine", folder=tmp_path / "quarantine", later_changes="wait")
    pipeline = replace(pipeline, errors=errors)
    change("c", 1, "x")
    change("c", 2, "y")
    SparkRunner(pipeline).run(once=True)
    _alter(session, tmp_path / "lake" / TABLE, "ADD CONSTRAINT good CHECK (name NOT LIKE 'bad%')")
    for op, number, name in (
        ("c", 3, "bad"), ("c", 4, "four"), ("u", 1, "bad"), ("u", 1, "one"), ("u", 2, "bad"), ("u", 3, "bad3"),
        ("d", 2, "bad"), ("c", 2, "bad"),
    ):  # fmt: skip
        change(op, number, name)
    SparkRunner(pipeline).run(once=True)
    assert rows() == [(1, "one"), (4, "four")]
    assert Counter(stage for stage, _, _ in set_aside(pipeline)) == {"write": 2, "wait": 1}
    change("u", 2, "later")
    change("u", 4, "4")
    SparkRunner(pipeline).run(once=True)
    assert rows() == [(1, "one"), (4, "4")]
    assert Counter(stage for stage, _, _ in set_aside(pipeline)) == {"write": 2, "wait": 2}
    # As in a batch of a run, the bad change of row 2 does not come to be: a good one follows it.
    assert list(map(bool, replayed(pipeline))) == [True, True, False, False]
    assert rows() == [(1, "one"), (2, "later"), (4, "4")]
    _alter(session, tmp_path / "lake" / TABLE, "DROP CONSTRAINT good")
    assert replayed(pipeline) == [""] * 2
    assert rows() == [(1, "one"), (2, "later"), (3, "bad3"), (4, "4")]


@pytest.mark.nightly  # what is judged: tests/quarantine/test_tables.py
def test_a_row_for_which_the_chain_has_another_type_by_now_stays(
    session: SparkSession, script: Script, tmp_path: Path, changelog: ResolvedPipeline
) -> None:
    script.change("c", {"id": -1, "name": "a"})
    script.change("c", {"id": 1, "name": "a"})
    SparkRunner(changelog).run(once=True)
    script.change("c", {"id": 2, "name": "b", "more": 1})
    SparkRunner(changelog).run(once=True)
    _alter(session, tmp_path / "lake" / TABLE, "DROP CONSTRAINT positive")
    cast = {"type": "Cast$Value", "spec": "id:string"}
    place = tmp_path / "lake"
    other = script.pipeline(tmp_path / "state", "spark", path=place, mode="changelog", transforms=(*UNWRAP, cast))
    [said] = replayed(replace(other, errors=changelog.errors))
    assert said.startswith("column 'id' is int, and the chain makes string now of what it had at position ")
    assert _ids(session, tmp_path / "lake") == [1, 2]
    assert replayed(changelog) == [""]
    assert _ids(session, tmp_path / "lake") == [-1, 1, 2]
