"""`cdc diff` as a command: what it prints, keeps and ends with, and what `--repair` mends."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cdckit.cli.main import call
from proof.planting import Lines
from proof.shop import deliver, fill, to_file
from testkit.running import Pipeline
from testkit.servers.mysql import MySQLServer

pytestmark = pytest.mark.parametrize("db_server", ["mysql"], indirect=True)


def _fault(pipeline: Pipeline) -> None:
    """Takes row 3, alters row 4."""
    lines = Lines(pipeline.output.read_text())
    lines.lines[lines.of[3][0]] = None
    lines.row(4)["name"] = "forged"
    pipeline.output.write_text(lines.text())


def test_what_differs_is_printed_and_kept_without_values(
    db_server: MySQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 9)
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    file = str(pipeline.written())
    assert call(["diff", file]) == 0
    assert f"{database}.orders   equal     9" in capfd.readouterr().out
    _fault(pipeline)
    assert call(["diff", file]) == 1
    printed = capfd.readouterr().out
    assert '{"id":3}' in printed
    assert 'name="name of 4"' in printed
    assert 'name="forged"' in printed
    assert call(["diff", file, "--json", "--max-load", "1000000"]) == 1
    told = json.loads(capfd.readouterr().out)["tables"][f"{database}.orders"]
    changed = next(one for one in told["differences"] if one["fault"] == "changed")
    assert (changed["key"], changed["columns"], changed["sink"]["name"]) == ({"id": 4}, ["name"], "forged")
    kept = (pipeline.state / "proof.json").read_text()
    assert "forged" not in kept
    proof = json.loads(kept)
    assert proof["version"] == 1
    [(table, found)] = proof["tables"].items()
    assert (table, found["topic"]) == (f"{database}.orders", f"p.{database}.orders")
    assert {name: found[name] for name in ("outcome", "rows", "missing", "extra", "changed", "note")} == {
        "outcome": "unequal", "rows": 9, "missing": 1, "extra": 0, "changed": 1, "note": "",
    }  # fmt: skip
    assert "file binlog." in found["position"]
    assert not list(pipeline.state.glob("proof-*")), "what did not fit into memory is left"


def test_what_cannot_be_decided_and_what_cannot_be_compared_have_codes_of_their_own(
    db_server: MySQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 3)
    pipeline = to_file(db_server, database, tmp_path)
    file = str(pipeline.written())
    assert call(["diff", file]) == 5
    assert call(["diff", file, "--sink", "stdout"]) == 2
    assert "cannot be read back" in capfd.readouterr().err
    pipeline.others["serializer"] = {"type": "string"}  # type: ignore[index]
    assert call(["diff", str(pipeline.written())]) == 2
    assert "serializer.type" in capfd.readouterr().err


def test_repair_reads_again_what_is_missing_or_changed(
    db_server: MySQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 9)
    signals = {"signal.enabled.channels": "in-process", "signal.poll.interval.ms": 100, "read.only": True}
    pipeline = to_file(db_server, database, tmp_path, **signals)
    deliver(pipeline)
    _fault(pipeline)
    file = str(pipeline.written())
    assert call(["diff", file, "--repair"]) == 1
    assert "the pipeline does not run" in capfd.readouterr().err
    with pipeline.running() as process:
        process.wait_for("starts on the runner")
        before = len(pipeline.events())
        assert call(["diff", file, "--repair"]) == 0, capfd.readouterr()
        read = [event["key"]["id"] for event in pipeline.events()[before:]]
    assert sorted(read) == [3, 4]


def test_a_proof_that_was_killed_goes_on(
    db_server: MySQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for table in ("a", "b", "c"):
        fill(db_server, database, 400, table)
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    file, begun = str(pipeline.written()), pipeline.state / "proof-begun.json"
    command = [sys.executable, "-m", "cdckit", "diff", file, "--resume", "--max-load", "200"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not begun.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
    decided = json.loads(begun.read_text())["tables"]
    assert f"{database}.a" in decided
    assert f"{database}.c" not in decided
    assert call(["diff", file, "--resume"]) == 0
    printed = capfd.readouterr()
    assert f"{database}.a: equal, as it was found before" in printed.err
    assert [printed.out.count(f"{database}.{table}   equal") for table in ("a", "b", "c")] == [1, 1, 1]
    assert not begun.exists()


def test_of_a_table_that_was_begun_the_other_parts_are_read(
    db_server: MySQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    db_server.execute(f"create table {database}.large (id int primary key, n int)")
    series = "with recursive s as (select 1 n union all select n + 1 from s where n < 160000) select n, n * 7 from s"
    db_server.run_sql(f"set cte_max_recursion_depth = 160001; insert into {database}.large {series}")
    db_server.execute(f"analyze table {database}.large")
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    db_server.run_sql("set global log_output = 'TABLE'; set global general_log = on")
    file, begun = str(pipeline.written()), pipeline.state / "proof-begun"
    command = [sys.executable, "-m", "cdckit", "diff", file, "--resume", "--max-load", "20000"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while len(_done(begun)) < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.kill()
    db_server.execute(f"update {database}.large set n = -1 where id in (5, 100000, 159999)")
    db_server.execute(f"delete from {database}.large where id = 7")
    deliver(pipeline)
    before = _parts_read(db_server, database)
    assert call(["diff", file, "--resume"]) == 0
    db_server.run_sql("set global general_log = off; set global log_output = 'FILE'")
    assert f"{database}.large   equal     159999" in capfd.readouterr().out
    assert _parts_read(db_server, database).count(before[0]) == before.count(before[0])
    assert not begun.exists()


def _parts_read(server: MySQLServer, database: str) -> list[str]:
    """The statements that have read parts of the table but for the first and the last one."""
    logged = server.execute("select convert(argument using utf8mb4) from mysql.general_log order by event_time")
    place = f"`{database}`.`large`"
    return [one for (one,) in logged if place in one and "`id` > " in one and " AND `id` <= " in one]


def _done(begun: Path) -> list[int]:
    """The numbers of the parts that are kept."""
    files = list(begun.glob("*/parts.json"))
    return list(json.loads(files[0].read_text())["done"]) if files else []
