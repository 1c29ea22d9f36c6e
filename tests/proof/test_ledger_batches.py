"""The ledger on Spark: tasks add up what they read, and the driver what the tasks of a batch tell. Without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.ledger.witness import Witness
from proof.planting import Lines
from proof.shop import change, deliver, fill, piped, proved, to_file
from proof.spark_batches import Batches, Kill
from proof.test_ledger import said
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

pytestmark = [pytest.mark.timeout(600), pytest.mark.parametrize("db_server", ["mysql"], indirect=True)]


def kept(server: SQLServer, database: str, folder: Path, runner: str = "spark", **options: Any) -> Pipeline:
    folder.mkdir(exist_ok=True)
    pipeline = to_file(server, database, folder, skipped_operations="none", **options)
    pipeline.others.update(ledger=True, runner=runner)  # type: ignore[attr-defined]
    return pipeline


def batches(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> Batches:
    return Batches(load_pipeline(pipeline.written()), monkeypatch)


def ledger_of(pipeline: Pipeline) -> dict[str, TableLedger]:
    known = Witness(load_pipeline(pipeline.written()), lambda: False).known()
    assert known is not None
    return known[1]


def assert_equal(pipeline: Pipeline, other: Pipeline) -> None:
    """Two ledgers of the same history."""
    left, right = ledger_of(pipeline), ledger_of(other)
    assert left.keys() == right.keys()
    for topic, table in left.items():
        assert table.sums == right[topic].sums, topic
        told = [(one.void, one.keyed, one.reading, one.sources, one.form) for one in (table, right[topic])]
        assert told[0] == told[1]


def change_all(server: SQLServer, database: str) -> None:
    """Changes of many kinds, which come in several splits; a table comes, and one gets a column."""
    change(server, database)
    server.execute(f"create table {database}.wide (id int primary key, v longblob)")
    for number in range(4):
        server.execute(f"update {database}.orders set name = 'round {number}' where id between {number} and 90")
        server.execute(f"insert into {database}.wide values ({number}, repeat('{number}', 1200000))")
    server.execute(f"update {database}.orders set id = id + 5000 where id between 60 and 65")
    server.execute(f'update {database}.orders set note = \'{{"b": 1,  "a": 2}}\', sent = now(3)')
    server.execute(f"alter table {database}.others add column more int default 7")
    server.execute(f"update {database}.others set name = 'x', more = 8 where id < 5")


def test_it_equals_that_of_the_direct_runner(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(db_server, database, 300)
    fill(db_server, database, 40, "others")
    pipeline = kept(db_server, database, tmp_path / "spark")
    direct = kept(db_server, database, tmp_path / "direct", "direct")
    runs = batches(pipeline, monkeypatch)
    runs.run()
    deliver(direct)
    assert_equal(pipeline, direct)
    assert said(pipeline, capfd) == ("equal", 300, "")
    change_all(db_server, database)
    runs.run()
    deliver(direct)
    assert max(runs.tasks) > 2, "one task read all"
    assert_equal(pipeline, direct)
    assert said(pipeline, capfd) == ("equal", 294, "")
    assert said(pipeline, capfd, "others") == ("equal", 40, "")
    db_server.execute(f"insert into {database}.orders (id) values (9001)")
    db_server.execute(f"truncate {database}.others")
    db_server.execute(f"insert into {database}.others (id) values (1)")
    runs.run()
    deliver(direct)
    assert_equal(pipeline, direct)
    assert said(pipeline, capfd, "others") == ("equal", 1, "")


@pytest.mark.parametrize("kill", ["before the sums", "before the commit"])
def test_a_batch_that_is_repeated_counts_once(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kill: Kill,
) -> None:
    """Also where the snapshot is repeated, and where another runner goes on behind it."""
    fill(db_server, database, 100)
    pipeline = kept(db_server, database, tmp_path)
    runs = batches(pipeline, monkeypatch)
    runs.run(kill)
    db_server.execute(f"update {database}.orders set name = 'between' where id < 20")
    db_server.execute(f"delete from {database}.orders where id = 30")
    runs.run()
    assert said(pipeline, capfd) == ("equal", 99, "")
    for _ in range(2):
        change(db_server, database)
        db_server.execute(f"insert into {database}.orders (id) select max(id) + 1 from {database}.orders")
        runs.run(kill)
        assert said(pipeline, capfd)[0] == "equal"
    runs.run()
    [[count]] = db_server.execute(f"select count(*) from {database}.orders")
    assert said(pipeline, capfd) == ("equal", count, "")
    assert proved(pipeline)["orders"].outcome == "equal"


def test_each_runner_goes_on_where_the_other_stopped(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The direct one also within the batches that a snapshot on Spark is followed through."""
    fill(db_server, database, 100)
    pipeline = kept(db_server, database, tmp_path)
    runs = batches(pipeline, monkeypatch)
    runs.run("before the commit")  # the snapshot comes again, read by the other
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 100, "")
    for _ in range(2):
        change(db_server, database)
        runs.run()
        db_server.execute(f"insert into {database}.orders (id) select max(id) + 1 from {database}.orders")
        assert said(pipeline, capfd)[0] == "equal"
        runs.run("before the commit")
        deliver(pipeline)
        assert said(pipeline, capfd)[0] == "equal"
    assert proved(pipeline)["orders"].outcome == "equal"


def test_what_a_snapshot_shows_already_counts_once(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its rows are read behind the place that the log is followed from; the direct runner may go on from there."""
    fill(db_server, database, 100)
    pipeline = kept(db_server, database, tmp_path)
    runs = batches(pipeline, monkeypatch)

    def change_meanwhile() -> None:
        db_server.execute(f"update {database}.orders set name = 'shown already' where id < 20")
        db_server.execute(f"delete from {database}.orders where id = 30")
        db_server.execute(f"insert into {database}.orders (id) values (999)")

    runs.meanwhile = change_meanwhile
    runs.run(most=1)
    outcome, _, note = said(pipeline, capfd)
    assert (outcome, "not read yet up to where it ended" in note) == ("undecided", True)
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 100, "")
    change(db_server, database)
    runs.meanwhile = lambda: None
    runs.run()
    assert said(pipeline, capfd) == ("equal", 98, "")


def test_a_loss_is_found_and_laid_to_delivery(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill(db_server, database, 60)
    pipeline = kept(db_server, database, tmp_path)
    runs = batches(pipeline, monkeypatch)
    runs.run()
    lines = Lines(pipeline.output.read_text())
    lines.lines[lines.of[3][-1]] = None
    pipeline.output.write_text(lines.text())
    orders = proved(pipeline)["orders"]
    assert [(one.fault, one.lost_by) for one in orders.differences] == [("missing", "delivery")]
    assert said(pipeline, capfd)[0] == "unequal"


@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_of_tables_it_equals_that_of_the_direct_runner(
    db_server: SQLServer, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Marks among the rows: tables that come, go, are emptied and get columns."""
    fill(db_server, database, 300)
    fill(db_server, database, 40, "others")
    ways = {name: tmp_path / name for name in ("spark", "delta")}
    pipelines = {}
    for sink, folder in ways.items():
        folder.mkdir()
        others = {"runner": "spark" if sink == "spark" else "direct", "ledger": True}
        target = {"type": sink, "mode": mode, "path": str(folder / "lake")}
        pipelines[sink] = piped(db_server, database, folder, target, others, skipped_operations="none")
    runs = batches(pipelines["spark"], monkeypatch)
    db_server.execute(f"create table {database}.empty (id int primary key, v int)")
    for step in range(3):
        if step == 1:
            change_all(db_server, database)
            db_server.execute(f"insert into {database}.empty values (1, 1)")
        elif step == 2:
            db_server.execute(f"truncate {database}.others")
            db_server.execute(f"insert into {database}.others (id) values (1)")
            db_server.execute(f"drop table {database}.wide")
        runs.run()
        deliver(pipelines["delta"])
        assert_equal(pipelines["spark"], pipelines["delta"])
    assert max(runs.tasks) > 2, "one task read all"
    assert ledger_of(pipelines["spark"])[f"p.{database}.orders"].sums.rows == 294
