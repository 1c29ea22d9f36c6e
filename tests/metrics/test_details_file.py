"""`details.json`: a run's last hour, what happened to it, its changes by table."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdckit.api.source_counts import SourceCounts
from cdckit.engine.metrics import details_file, timeline
from cdckit.engine.metrics.details_file import DETAILS, DetailsFile, read_details
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.pace import Pace
from cdckit.engine.metrics.table_changes import MOST_TABLES, OTHERS, TableChanges
from cdckit.engine.metrics.timeline import ENTRIES, Timeline
from cdckit.engine.metrics.trend import SAMPLES, Sample, kept
from cdckit.engine.metrics.usage import usage


def run_of(folder: Path, *tables: str, error: Exception | None = None) -> None:
    """A short run that changed a row of each of the tables."""
    figures = Figures("p", "mysql", "p", "direct")
    written = DetailsFile(folder, figures)
    counts = SourceCounts()
    for name in tables:
        counts.add_changes(name, {"c": 1})
    figures.log_time = time.time()
    figures.count(counts.take())
    figures.stop(error)
    written.close()


def test_a_run_goes_on_with_what_the_one_before_left(tmp_path: Path) -> None:
    run_of(tmp_path, "shop.a", error=ValueError("broken"))
    run_of(tmp_path, "shop.b")
    told = read_details(tmp_path)
    assert [entry[1:3] for entry in told["timeline"]] == [["failed", "broken"], ["stopped", "stopped"]]
    assert len(told["samples"]) == 2
    assert told["tables"]["shop.b"]["c"] == 1
    assert "c" not in told["tables"]["shop.a"]
    assert told["tables"]["shop.a"]["changed"] <= told["tables"]["shop.b"]["changed"]
    assert (tmp_path / DETAILS).stat().st_mode & 0o77 == 0


def test_it_is_written_while_a_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(details_file, "WRITE_SECONDS", 0.01)
    figures = Figures("p", "mysql", "p", "direct")
    written = DetailsFile(tmp_path, figures)
    figures.timeline.add("lost", "away")
    written.changed()
    deadline = time.monotonic() + 60
    while not read_details(tmp_path).get("timeline"):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    written.close()


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"format": 0}', '{"format": 1, "samples": [[1]], "timeline": [3, [1, "x"]], "tables": [1]}'],
)
def test_what_is_damaged_is_begun_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / DETAILS).write_text(text)
    run_of(tmp_path, "shop.a")
    told = read_details(tmp_path)
    assert [entry[1] for entry in told["timeline"]] == ["stopped"]
    assert list(told["tables"]) == ["shop.a"]


def test_a_folder_that_cannot_be_written_stops_nobody(tmp_path: Path) -> None:
    run_of(tmp_path / "not there", "shop.a")
    assert read_details(tmp_path / "not there") == {}


def test_what_is_kept_is_bounded() -> None:
    told = Timeline()
    for number in range(3 * ENTRIES):
        told.add("failed", f"{number} " + "x" * 10_000)
    assert len(told.entries) == ENTRIES
    assert max(len(entry.text) for entry in told.entries) <= timeline._LONGEST
    assert len(kept([[0.0] * len(Sample._fields)] * (SAMPLES + 5))) == SAMPLES
    tables = TableChanges()
    for number in range(MOST_TABLES + 7):
        tables.add({f"db.t{number}": {"u": 1}}, 1.0)
    tables.add({"db.t0": {"u": 1}}, 2.0)
    assert len(tables.counts) == MOST_TABLES + 1
    assert tables.counts[OTHERS] == {"u": 7}
    assert (tables.counts["db.t0"], tables.changed["db.t0"]) == ({"u": 2}, 2.0)


def test_an_error_that_comes_again_at_once_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    moment = [1000.0]
    monkeypatch.setattr(timeline, "now", lambda: moment[0])
    told = Timeline()
    for later in (0, 10, 20, 90):
        moment[0] += later
        told.add("lost", "away")
    assert [(entry.times, entry.at) for entry in told.entries] == [(3, 1030.0), (1, 1120.0)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE USER 'a'@'%' IDENTIFIED BY 'hunter2'",
        "create user a identified with caching_sha2_password by 'hunter2'",
        'ALTER USER a IDENTIFIED BY "hunter2"',
        "CREATE TABLE f (id INT) ENGINE=FEDERATED CONNECTION='mysql://u:hunter2@db:3306/shop/f'",
        "SET PASSWORD = 'hunter2'",
        "CHANGE MASTER TO MASTER_PASSWORD='hun\\'ter2 hunter2'",
    ],
)
def test_statements_are_shown_without_passwords(statement: str) -> None:
    told = Timeline()
    told.schema_changed(statement, ["shop.f"])
    assert "hunter2" not in told.entries[-1].text
    assert told.entries[-1].text.startswith(statement.split(maxsplit=1)[0])
    assert told.entries[-1].about == "shop.f"


def test_the_way_of_a_change() -> None:
    pace = Pace()
    pace.committed(100.0, 103.0)
    assert (pace.source_lag, pace.sink_lag) == (None, None)
    pace.read_at = 101.0
    pace.committed(100.0, 103.5)
    assert (pace.source_lag, pace.sink_lag) == (1.0, 2.5)


def test_what_a_process_and_those_below_it_take() -> None:
    before = usage()
    child = subprocess.Popen(
        [sys.executable, "-c", "x = bytearray(60_000_000); print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    child.stdout.readline()
    during = usage()
    child.communicate(b"\n")
    assert before.memory_bytes is not None
    assert during.memory_bytes is not None
    assert during.memory_bytes - before.memory_bytes > 50_000_000
    burnt = os.times().user
    while os.times().user - burnt < 0.1:
        pass
    assert usage().cpu_seconds >= during.cpu_seconds


def test_counts_travel_with_the_others() -> None:
    counts = SourceCounts()
    assert not counts
    counts.add_changes("shop.a", {"c": 2, "u": 1})
    taken = counts.take()
    assert not counts
    other = SourceCounts()
    other.add_changes("shop.a", {"c": 1})
    taken.add(other)
    assert taken.tables == {"shop.a": {"c": 3, "u": 1}}
