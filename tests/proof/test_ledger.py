"""The ledger: sums that go with the offset, and say who lost a row."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from proof.planting import Lines
from proof.shop import change, change_unseen, deliver, fill, proved, to_file
from proof.test_files import written
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.timeout(600)


def kept(server: SQLServer, database: str, folder: Path, **options: Any) -> Pipeline:
    pipeline = to_file(server, database, folder, skipped_operations="none", **options)
    pipeline.others["ledger"] = True  # type: ignore[index]
    return pipeline


def said(pipeline: Pipeline, capfd: pytest.CaptureFixture[str], name: str = "orders") -> tuple[str, int, str]:
    capfd.readouterr()
    call(["diff", str(pipeline.written()), "--ledger", "--json"])
    printed = capfd.readouterr()
    assert printed.out, printed.err
    tables = json.loads(printed.out)["tables"]
    found = next(table for key, table in tables.items() if key.endswith(f".{name}"))
    return found["outcome"], found["rows"], found["note"]


@pytest.mark.parametrize("db_server", ["mysql", "mariadb"], indirect=True)
def test_the_sums_are_those_of_the_rows(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 300)
    pipeline = kept(db_server, database, tmp_path)
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 300, "")
    change(db_server, database)
    db_server.execute(f"update {database}.orders set id = id + 5000 where id between 60 and 65")
    db_server.execute(
        f"update {database}.orders set sent = '2024-06-01 12:00:00.500', note = '{{\"b\": 1,  \"a\": 2}}'"
    )
    db_server.execute(f"update {database}.orders set sent = '2024-06-01 12:00:00' where id < 50")
    db_server.execute(f"insert into {database}.orders (id) values (50), (10001)")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 296, "")
    db_server.execute(f"truncate {database}.orders")
    db_server.execute(f"insert into {database}.orders (id, name) values (1, 'again')")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 1, "")
    assert proved(pipeline)["orders"].outcome == "equal"


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_rows_that_capture_lost_are_told_from_those_that_delivery_lost(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 200)
    pipeline = kept(db_server, database, tmp_path)
    deliver(pipeline)
    change(db_server, database)
    db_server.execute(f"update {database}.orders set name = 'told' where id = 4")
    deliver(pipeline)
    change_unseen(db_server, database)
    assert proved(pipeline)["orders"].note == "lost, by the ledger: 3 by capture"
    assert said(pipeline, capfd)[0] == "equal"
    lines = Lines(pipeline.output.read_text())
    lines.lines[lines.of[3][-1]] = None
    lines.lines[lines.of[4][-1]] = None  # the row before stays
    lines.row(5)["name"] = "forged"
    pipeline.output.write_text(lines.text())
    orders = proved(pipeline)["orders"]
    assert {json.loads(one.key)["id"]: (one.fault, one.lost_by) for one in orders.differences} == {
        3: ("missing", "delivery"), 4: ("changed", "delivery"), 5: ("changed", "delivery"),
        11: ("changed", "capture"), 12: ("changed", "capture"), 13: ("extra", "capture"),
    }  # fmt: skip
    assert orders.note == "lost, by the ledger: 3 by capture, 3 by delivery"
    outcome, rows, note = said(pipeline, capfd)
    assert (outcome, rows, "the sink has 195 rows" in note) == ("unequal", 196, True)
    assert call(["diff", str(pipeline.written())]) == 1
    assert "lost by" in capfd.readouterr().out


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_each_event_counts_once_however_often_the_pipeline_is_killed(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 300)
    pipeline = kept(db_server, database, tmp_path)
    deliver(pipeline)
    with written(db_server, database) as statements:
        for interval in (100, 60_000, 100):
            pipeline.others["offset.flush.interval.ms"] = interval  # type: ignore[index]
            with pipeline.running() as process:
                process.wait_for("starts on the runner")
                process.wait_until(partial(_came, pipeline, _lines(pipeline) + 100))
                process.kill()
    deliver(pipeline)
    positions = [line["headers"][-1]["value"] for line in map(json.loads, pipeline.output.read_text().splitlines())]
    assert len(set(positions)) < len(positions) - 90, "nothing came again"
    [[count]] = db_server.execute(f"select count(*) from {database}.orders")
    assert said(pipeline, capfd) == ("equal", count, "")
    assert statements
    assert proved(pipeline)["orders"].outcome == "equal"


def _came(pipeline: Pipeline, count: int) -> bool:
    return _lines(pipeline) > count


def _lines(pipeline: Pipeline) -> int:
    """A kill may leave one that is not whole, which is cut off at the next start."""
    return pipeline.output.read_bytes().count(b"\n")


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_what_cannot_be_added_up_is_said_until_the_rows_are_read_again(
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
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 20, "")
    db_server.execute(f"alter table {database}.orders modify ratio decimal(20,3)")
    db_server.run_sql(f"set binlog_row_image = minimal; update {database}.others set name = 'x' where id = 4")
    db_server.execute(f"update {database}.orders set name = 'y' where id < 5")
    deliver(pipeline)
    outcome, _, note = said(pipeline, capfd)
    assert (outcome, "its definition changed" in note, "ratio went or became otherwise" in note) == (
        "undecided",
        True,
        True,
    )
    outcome, _, note = said(pipeline, capfd, "others")
    assert (outcome, "binlog_row_image" in note) == ("undecided", True)
    assert call(["resnapshot", str(pipeline.written()), "--table", f"{database}.orders"]) == 0
    deliver(pipeline)
    db_server.execute(f"update {database}.orders set name = 'z' where id < 3")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 20, "")


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_a_ledger_that_begins_late_tells_nothing_of_rows_from_before(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 20)
    pipeline = kept(db_server, database, tmp_path)
    pipeline.others["ledger"] = False  # type: ignore[index]
    deliver(pipeline)
    pipeline.others["ledger"] = True  # type: ignore[index]
    change(db_server, database)
    deliver(pipeline)
    outcome, _, note = said(pipeline, capfd)
    assert (outcome, "the ledger began when there were rows already" in note) == ("undecided", True)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"runner": "spark", "errors.tolerance": "all"}, "errors.tolerance: none"),
        ({"runner": "spark", "sink": {"type": "spark", "format": "parquet", "path": "lake"}}, "these are 'parquet'"),
        ({"runner": "spark", "sink": {"type": "spark", "database": "lake"}}, "a catalog's are not found so"),
        ({"position.header": False}, "position.header: true"),
        ({"serializer": {"type": "string"}}, "serializer json"),
        ({"serializer": {"type": "json", "decimal.format": "NUMERIC"}}, "decimal.format: BASE64"),
        ({"errors.tolerance": "all"}, "errors.tolerance: none"),
        ({"sink": {"type": "spark", "path": "lake"}}, "cannot be read back as they were"),
    ],
)
def test_it_is_refused_where_it_cannot_be_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: dict[str, Any], why: str
) -> None:
    source = {
        "type": "mysql", "topic.prefix": "p", "database.hostname": "h", "database.user": "u", "database.password": "w",
    }  # fmt: skip
    content = {"runner": "direct", "source": source, "sink": {"type": "file", "path": "out"}, "ledger": True, **options}
    (tmp_path / "p.json").write_text(json.dumps(content))
    assert call(["validate", str(tmp_path / "p.json")]) == 2
    refused = capfd.readouterr().err
    assert "CDC2402: ledger: " in refused or "CDC2402" in refused
    assert "ledger: " in refused
    assert why in refused


@pytest.mark.parametrize("options", [{"type": "mongodb"}, {"type": "mysql", "snapshot.locking.mode": "none"}])
def test_sources_whose_changes_do_not_add_up_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: dict[str, Any]
) -> None:
    login = {"database.hostname": "h", "database.user": "u", "database.password": "w"}
    source = {
        "topic.prefix": "p",
        **options,
        **(login if options["type"] == "mysql" else {"mongodb.connection.string": "mongodb://h"}),
    }
    content = {"runner": "direct", "source": source, "sink": {"type": "file", "path": "out"}, "ledger": True}
    (tmp_path / "p.json").write_text(json.dumps(content))
    assert call(["validate", str(tmp_path / "p.json")]) == 2
    assert "ledger: " in capfd.readouterr().err
