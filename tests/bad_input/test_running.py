"""What happens under a running pipeline: tables that are dropped, signals."""

from __future__ import annotations

import signal

import pytest

from bad_input.conftest import NewPipeline, has_events, past_snapshot, rows, with_many_rows
from testkit.servers.mysql_family import SQLServer

BEFORE = [("r", None, (1, "a")), ("r", None, (2, "b"))]


@pytest.fixture
def db_server(mysql_server: SQLServer) -> SQLServer:
    """One server is enough here."""
    return mysql_server


def test_a_table_that_is_dropped_leaves_the_others_alone(
    db_server: SQLServer, shop: str, pipeline: NewPipeline
) -> None:
    made = pipeline()
    with made.running() as process:
        past_snapshot(process)
        db_server.run_sql(
            "CREATE TABLE other (id INT PRIMARY KEY); INSERT INTO other VALUES (7); INSERT INTO t VALUES (3, 'c');"
            "DROP TABLE t; INSERT INTO other VALUES (8);",
            database=shop,
        )
        has_events(process, 5)
        ended = process.stop()
    assert ended.code == 0
    assert f"the definition of {shop}.t changes at" in ended.stderr
    assert rows(made) == [*BEFORE, ("c", None, (7,)), ("c", None, (3, "c")), ("c", None, (8,))]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_a_signal_ends_the_pipeline_behind_whole_batches(
    db_server: SQLServer, shop: str, pipeline: NewPipeline, number: signal.Signals, code: int
) -> None:
    made = pipeline()
    with made.running() as process:
        past_snapshot(process)
        db_server.execute("INSERT INTO t VALUES (3, 'c')", database=shop)
        has_events(process, 3)
        assert process.stop(number).code == code
    again = made.run("--once")
    assert "stopped; 0 events delivered" in again.stderr
    assert rows(made) == [*BEFORE, ("c", None, (3, "c"))]


def test_a_signal_during_the_snapshot_ends_it_and_the_next_start_says_so(
    db_server: SQLServer, shop: str, pipeline: NewPipeline
) -> None:
    with_many_rows(db_server, shop)
    made = pipeline(table_include_list=f"{shop}.many")
    with made.running() as process:
        process.wait_until(lambda: made.output.exists() and made.output.stat().st_size > 1_000_000, "some rows")
        assert process.stop().code == 0
    assert made.output.read_bytes().endswith(b"\n")
    assert (made.offset() or {})["snapshot"] == "INITIAL"
    again = made.run("--once")
    assert again.code == 0
    assert "the last snapshot was not finished: what is left of it is read now" in again.stderr
