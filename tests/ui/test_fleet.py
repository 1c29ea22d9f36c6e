"""What the page and `cdc top` read: state folders of pipelines that run, are down, or cannot be read."""

from __future__ import annotations

import base64
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit import errors
from cdckit.engine.metrics.forecast import Forecast
from cdckit.engine.metrics.trend import Sample
from cdckit.engine.quarantine.store import FILE
from cdckit.errors import StateError
from cdckit.ui.details import details, proof, trend
from cdckit.ui.fleet import Fleet, Member, row
from cdckit.ui.folders import state_folders
from cdckit.ui.kept import PAGE, page_of, shown, whole
from testkit.planted import Planted, planted


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Planted]:
    """Where pipelines are planted."""
    with planted(tmp_path) as planting:
        yield planting


def only(made: Planted) -> Member:
    """The one pipeline that was planted."""
    (member,) = Fleet([made.root], 300).members()
    return member


def test_state_folders_are_found_below_and_not_within(tmp_path: Path) -> None:
    for folder in ("a", "team/b", "team/prod/c", "team/prod/eu/d", "a/spark/e", ".hidden/f"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "status.json").write_text("{}")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "state.db").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    names = [folder.relative_to(tmp_path) for folder in state_folders([tmp_path, tmp_path / "team"])]
    assert list(map(str, names)) == ["a", "old", "team/b", "team/prod/c", "team/prod/eu/d"]
    assert state_folders([tmp_path / "a"]) == [tmp_path / "a"]


def _failed_by(error: Exception) -> Callable[[Planted], None]:
    return lambda made: made.ended("p", error)


def _changed(**members: Any) -> Callable[[Planted], None]:
    def plant(made: Planted) -> None:
        made.running("p")
        made.rewritten("p", lambda status: status.update(members))

    return plant


def _forecast(left: float, needs: float | None, *, runs: bool = True) -> Callable[[Planted], None]:
    def plant(made: Planted) -> None:
        figures = made.figures("p")
        now = time.time()
        figures.forecast = Forecast(now, "log.7", now + left, needs, "keep", "SET GLOBAL keep = 9")
        if runs:
            made.running("p", figures)
        else:
            made.ended("p", figures=figures)

    return plant


def _silent(made: Planted) -> None:
    _changed(lag_seconds=9.0, written=time.time() - 4000)(made)


ILLS: list[tuple[Callable[[Planted], None], str, str, str]] = [
    (_failed_by(errors.SourceError("no")), "down", "SourceError: no", "cdc validate {} --connect"),
    (_failed_by(errors.SinkError("full")), "down", "SinkError: full", "cdc validate {} --connect"),
    (_failed_by(errors.ConfigError("wrong")), "down", "ConfigError: wrong", "cdc validate {}"),
    (_failed_by(errors.DecodeError("odd")), "down", "DecodeError: odd", "--set errors.tolerance=quarantine"),
    (_failed_by(errors.StateError("torn")), "down", "StateError: torn", "cdc status {}"),
    (_failed_by(RuntimeError("bug")), "down", "RuntimeError: bug", "cdc run {}"),
    (lambda made: made.killed("p"), "down", "ended without a word", "cdc run {}"),
    (_changed(connected=False, disconnects=1, disconnected_by="gone"), "bad", "the source is away: gone", "cdc"),
    (_silent, "bad", "was last heard of 1 h", "cdc"),
    (_forecast(2 * 3600, 7300), "bad", "purged before it is read: it needs 2 h 01 min to catch up", "SET GLOBAL keep"),
    (_forecast(3600, math.inf), "bad", "it never catches up as it is", "SET GLOBAL keep"),
    (_forecast(900_000, 7200), "fine", "", ""),
    (_forecast(3600, None), "fine", "", ""),
    (
        _forecast(3600, 10, runs=False),
        "bad",
        "it stands, and the log that it needs next, log.7",
        "cdc run {}",
    ),
    (_forecast(900_000, 10, runs=False), "idle", "", ""),
    (_changed(forecast="soon"), "fine", "", ""),
    (_changed(lag_seconds=400.0), "warn", "6 min 40 s behind the source", "cdc status {}"),
    (_changed(left_out={"write": 2}, skipped={"a.b": 1}), "warn", "3 records of this run were left out", "cdc"),
    (_changed(unmatched=["'shop.oders' matches nothing"]), "warn", "'shop.oders' matches nothing", "cdc validate {}"),
    (lambda made: made.ended("p"), "idle", "", ""),
    (lambda made: made.state("p", {"pos": 4}), "idle", "", ""),
]


@pytest.mark.parametrize(("plant", "grade", "what", "command"), ILLS)
def test_what_is_wrong_and_what_to_do(
    made: Planted, plant: Callable[[Planted], None], grade: str, what: str, command: str
) -> None:
    plant(made)
    ill = only(made).ill
    assert ill.grade == grade
    assert what in ill.what
    assert command.format(made.root / "p.yaml") in ill.command
    assert bool(ill.what) is bool(ill.remedy)


def test_a_pipeline_in_a_snapshot_is_not_behind(made: Planted) -> None:
    figures = made.figures("p")
    figures.lag_seconds = 5_000.0
    figures.snapshot.begin({"shop.a": 100, "shop.b": 900})
    figures.snapshot.read("shop.a", 100, 100, finished=True)
    made.running("p", figures)
    told = row(only(made))
    assert told["grade"] == "fine"
    assert told["snapshot"]["done"] == 1
    assert (told["snapshot"]["rows"], told["snapshot"]["of"]) == (100, 1000)


def test_a_status_that_cannot_be_read_is_named(made: Planted) -> None:
    made.running("well")
    (made.folder("torn")).mkdir()
    (made.folder("torn") / "status.json").write_text("{")
    torn, well = Fleet([made.root], 300).members()
    assert (torn.name, torn.ill.grade, row(torn)["state"]) == ("torn", "down", "unreadable")
    assert "torn/status.json" in torn.ill.what
    assert well.name == "well"
    assert details(torn, 300)["tables"] == []


def test_a_status_of_before_is_understood(made: Planted) -> None:
    """One that names no file, no quarantine and no signals, as earlier versions wrote it."""
    made.ended("p", errors.SourceError("no"))

    def forget(status: dict[str, Any]) -> None:
        for member in ("file", "as_written", "store", "quarantine_folder", "signals", "sink", "source_lag", "sink_lag"):
            del status[member]

    made.rewritten("p", forget)
    made.quarantine("p", ["why"], {})
    told = details(only(made), 300)
    assert told["command"] == "cdc validate FILE --connect"
    assert told["quarantine"] == 1
    assert told["refusals"]["replay"] == "its last run did not say which file describes it"


def test_the_quarantine_is_counted_anew_where_it_has_changed(made: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    made.running("p")
    fleet = Fleet([made.root], 300)
    assert row(fleet.members()[0])["quarantine"] == 0
    made.quarantine("p", ["a", "b"], {})
    assert row(fleet.members()[0])["quarantine"] == 2
    file = made.folder("p") / "quarantine" / FILE
    written = file.stat().st_mtime_ns
    made.quarantine("p", ["c"], {}, first=2)
    os.utime(file, ns=(written, written))  # as within one tick of the clock
    assert row(fleet.members()[0])["quarantine"] == 3
    for each in file.parent.glob(f"{FILE}*"):
        os.utime(each, ns=(1, 1))
    assert row(fleet.members()[0])["quarantine"] == 3
    monkeypatch.setattr("cdckit.ui.fleet.kept_count", lambda _: pytest.fail("nothing has changed"))
    assert row(fleet.members()[0])["quarantine"] == 3


def test_a_pipeline_whose_state_is_elsewhere(made: Planted) -> None:
    made.running("p")
    made.rewritten("p", lambda status: status.update(store="kafka"))
    told = details(only(made), 300)
    assert (told["store"], told["offset"]) == ("kafka", None)


def test_the_last_hour_as_lines() -> None:
    def at(when: float, run: float, records: int, cpu: float) -> list[Any]:
        return list(Sample(when, run, records, 0, records * 10, 0.5, None, None, cpu, 7))

    lines = trend([at(0, 1, 0, 0), at(10, 1, 50, 2.5), at(20, 2, 3, 0.1), at(200, 2, 3, 0.2), at(210, 2, 13, 0.2)])
    assert lines["at"] == [0, 10, 20, 21, 200, 210]
    assert lines["rate"] == [None, 5.0, None, None, None, 1.0]
    assert lines["cpu"] == [None, 0.25, None, None, None, 0.0]
    assert lines["memory"] == [7, 7, 7, None, 7, 7]
    assert trend([]) == {name: [] for name in lines}


def test_the_proof_is_read_as_it_was_written(made: Planted) -> None:
    made.ended("p")
    folder = made.folder("p")
    assert proof(folder) is None
    made.proof("p", {"a.equal": {"outcome": "equal"}, "a.other": {"outcome": "unequal"}, "a.torn": 3})  # type: ignore[dict-item]
    found = proof(folder)
    assert found is not None
    assert [table["name"] for table in found["tables"]] == ["a.other", "a.equal"]
    for text in ("{", "[]", '{"version": 2}'):
        (folder / "proof.json").write_text(text)
        with pytest.raises(StateError, match="the next `cdc diff` writes it anew"):
            proof(folder)


def test_records_are_shown_a_page_at_a_time(made: Planted) -> None:
    made.quarantine("p", [f"why {number}" for number in range(PAGE + 3)], {"a": 1})
    folder = made.folder("p") / "quarantine"
    newest = page_of(folder)
    assert [record["number"] for record in newest] == list(range(PAGE + 3, 3, -1))
    assert [record["number"] for record in page_of(folder, newest[-1]["number"])] == [3, 2, 1]
    found = whole(folder, 2)
    assert found is not None
    assert json.loads(found["content"])["value"] == {"a": 1, "id": 1}
    assert whole(folder, 999) is None
    assert page_of(made.folder("other") / "quarantine") == []


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (
            {"form": "record", "topic": "t", "key": None, "value": {"schema": {}, "payload": {"a": 1}},
             "headers": [{"key": "h", "value": {"schema": {}, "payload": 2}}]},
            {"topic": "t", "key": None, "value": {"a": 1}, "headers": {"h": 2}},
        ),
        (
            {"form": "message", "topic": "t", "key": _b64(b'{"id": 1}'), "value": _b64(b"plain"), "headers": []},
            {"topic": "t", "key": {"id": 1}, "value": "plain", "headers": {}},
        ),
        (
            {"form": "undecoded", "topic": "t", "raw": {"event": _b64(b"\x00\xff")}, "facts": {"a": 1}},
            {"topic": "t", "facts": {"a": 1}, "raw": {"event": f"base64: {_b64(bytes([0, 255]))}"}},
        ),
        ({"form": "text", "text": "Record(…)"}, {"form": "text", "text": "Record(…)"}),
        ([1], [1]),
    ],
)  # fmt: skip
def test_contents_as_people_read_them(content: Any, seen: Any) -> None:
    assert shown(json.dumps(content).encode()) == seen


def test_a_content_that_is_damaged() -> None:
    assert shown(b"\xff{") == repr(b"\xff{")
