"""The ledger of pipelines whose sink keeps Delta tables on the direct runner."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from cdckit.cli.main import call
from proof.shop import change, change_unseen, deliver, fill, piped, proved
from proof.test_files import written
from proof.test_ledger import said
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.timeout(600)

_KINDS = (
    "id bigint unsigned, part int, f float, d decimal(30,6), t time(3), y year, b bit(9), g json, z timestamp(6) null, "
    "n datetime, dd date, e set('a','b','c'), bin varbinary(20), primary key (id, part)"
)


def kept(server: SQLServer, database: str, folder: Path, mode: str = "mirror", **sink: Any) -> Pipeline:
    target = {"type": "delta", "mode": mode, "path": str(folder / "lake"), **sink}
    others = {"runner": "direct", "ledger": True, "offset.flush.interval.ms": 100}
    return piped(server, database, folder, target, others, skipped_operations="none")


def lake(folder: Path, database: str, name: str = "orders") -> DeltaTable:
    return DeltaTable(str(folder / "lake" / f"p.{database}.{name}"))


@pytest.mark.parametrize("db_server", ["mysql", "mariadb"], indirect=True)
@pytest.mark.parametrize(
    ("mode", "sink"), [("mirror", {}), ("mirror", {"mirror.apply.interval.ms": 60_000}), ("changelog", {})]
)
def test_the_sums_are_those_of_the_tables(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    mode: str,
    sink: dict[str, Any],
) -> None:
    fill(db_server, database, 300)
    db_server.execute(f"create table {database}.kinds ({_KINDS})")
    db_server.execute(
        f"insert into {database}.kinds values (18446744073709551615, 1, 0.1, 123456789012345678901234.5, "
        "'-12:00:01.5', 2024, b'101', '{\"b\": 1,  \"a\": [2.50]}', '2024-06-01 12:00:00.250000', "
        "'2024-06-01 01:02:03', '2024-02-29', 'a,c', x'00ff1d1e1f'), "
        "(2, 2, null, null, null, null, null, null, null, null, null, null, null)"
    )
    pipeline = kept(db_server, database, tmp_path, mode, **sink)
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 300, "")
    change(db_server, database)
    db_server.execute(f"update {database}.orders set id = id + 5000 where id between 60 and 65")
    db_server.execute(
        f"update {database}.orders set sent = '2024-06-01 12:00:00.500', note = '{{\"b\": 1,  \"a\": 2}}'"
    )
    db_server.execute(f"insert into {database}.orders (id) values (50), (10001)")
    db_server.execute(f"update {database}.kinds set f = 0.3, d = -0.000001, g = '[1,   2]', bin = x'1d' where part < 3")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 296, "")
    assert said(pipeline, capfd, "kinds") == ("equal", 2, "")
    db_server.execute(f"truncate {database}.orders")
    db_server.execute(f"insert into {database}.orders (id, name) values (1, 'again')")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 1, "")
    assert {name: one.outcome for name, one in proved(pipeline).items()} == {"orders": "equal", "kinds": "equal"}


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
@pytest.mark.parametrize("mode", ["mirror", "changelog", "history"])
def test_rows_that_capture_lost_are_told_from_those_that_delivery_lost(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: str
) -> None:
    fill(db_server, database, 200)
    pipeline = kept(db_server, database, tmp_path, mode)
    deliver(pipeline)
    change(db_server, database)
    deliver(pipeline)
    change_unseen(db_server, database)
    assert proved(pipeline)["orders"].note == "lost, by the ledger: 3 by capture"
    assert said(pipeline, capfd)[0] == "equal"
    table = lake(tmp_path, database)
    table.delete("id = 3")
    table.update(predicate="id = 5", updates={"name": "'forged'"})
    orders = proved(pipeline)["orders"]
    assert {json.loads(one.key)["id"]: (one.fault, one.lost_by) for one in orders.differences} == {
        3: ("missing", "delivery"), 5: ("changed", "delivery"),
        11: ("changed", "capture"), 12: ("changed", "capture"), 13: ("extra", "capture"),
    }  # fmt: skip
    outcome, rows, note = said(pipeline, capfd)
    assert (outcome, rows, "the sink has 195 rows" in note) == ("unequal", 196, True)


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
@pytest.mark.parametrize("mode", ["mirror", "changelog", pytest.param("history", marks=pytest.mark.nightly)])
def test_each_event_counts_once_however_often_the_pipeline_is_killed(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], mode: str
) -> None:
    fill(db_server, database, 300)
    pipeline = kept(db_server, database, tmp_path, mode)
    deliver(pipeline)
    with written(db_server, database) as statements:
        for _ in range(3):
            begun = lake(tmp_path, database).version()
            with pipeline.running() as process:
                process.wait_until(partial(_grown, tmp_path, database, begun + 3))
                process.kill()
            assert said(pipeline, capfd)[0] == "equal"
    assert statements
    deliver(pipeline)
    [[count]] = db_server.execute(f"select count(*) from {database}.orders")
    assert said(pipeline, capfd) == ("equal", count, "")
    assert proved(pipeline)["orders"].outcome == "equal"


def _grown(folder: Path, database: str, version: int) -> bool:
    return lake(folder, database).version() >= version


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_a_snapshot_that_was_killed_is_added_up_once(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 500)
    pipeline = kept(db_server, database, tmp_path)
    with pipeline.running() as process:
        process.wait_until((tmp_path / "lake").exists)
        process.kill()
    db_server.execute(f"update {database}.orders set name = 'between' where id < 20")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 500, "")


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_changes_of_definitions_and_of_whole_tables(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 20)
    fill(db_server, database, 20, "others")
    pipeline = kept(db_server, database, tmp_path)
    deliver(pipeline)
    db_server.execute(f"alter table {database}.orders modify ratio double first")
    db_server.execute(f"update {database}.orders set name = 'moved' where id < 9")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 20, "")
    db_server.execute(f"alter table {database}.orders add column more int default 7")
    db_server.execute(f"update {database}.orders set name = 'x', more = 8 where id < 5")
    db_server.execute(f"drop table {database}.others")
    fill(db_server, database, 7, "others")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 20, "")
    assert said(pipeline, capfd, "others") == ("equal", 7, "")
    db_server.execute(f"alter table {database}.orders modify price decimal(14,3)")
    deliver(pipeline)
    outcome, _, note = said(pipeline, capfd)
    assert (outcome, "price went or became otherwise" in note) == ("undecided", True)
    assert call(["resnapshot", str(pipeline.written()), "--table", f"{database}.orders"]) == 0
    deliver(pipeline)
    db_server.execute(f"update {database}.orders set name = 'z', ratio = 0.1 where id < 3")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 20, "")
