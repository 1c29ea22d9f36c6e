"""The probes of a pipeline, asked while its source and its sink go away and come back."""

from __future__ import annotations

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.probes import unready
from cdckit.engine.metrics.status_file import read_status
from metrics.scraping import served_at
from testkit.running import Pipeline, Running, create_reader, source_of
from testkit.servers.kafka import QUICK_TO_BELIEVE_IN_DEATH, KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.servers.ports import free_port
from testkit.servers.proxy import MovingAddress

PATIENCE_MS = 300
AT_ONCE = {"metrics.address": "127.0.0.1:0", "metrics.ready.away.ms": PATIENCE_MS}


def asked(running: Running, path: str) -> tuple[int, str]:
    """What the pipeline's probe says; 0 while there is nobody."""
    url = served_at(running.pipeline.state)
    if url is None:
        return 0, ""
    try:
        with urllib.request.urlopen(url.removesuffix("/metrics") + path, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def waits_for(running: Running, code: int, text: str) -> None:
    """It may say something else before: a sink that is slow once is away for a moment."""

    def says() -> bool:
        status, said = asked(running, "/readyz")
        return status == code and text in said

    running.wait_until(says, f"{code} of /readyz, and {text!r}")
    assert asked(running, "/livez") == (200, "ok\n")


@pytest.fixture
def orders(mysql_server: MySQLServer, unique_name: str) -> str:
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql("create table t (n int primary key); insert into t values (1);", database=unique_name)
    create_reader(mysql_server)
    return unique_name


@pytest.mark.parametrize("sink", ["file", "delta"])
def test_a_source_that_is_away_for_long(mysql_server: MySQLServer, orders: str, tmp_path: Path, sink: str) -> None:
    place = str(tmp_path / ("out.jsonl" if sink == "file" else "lake"))
    with MovingAddress(mysql_server.port) as address:
        source = source_of(mysql_server, orders, database_port=address.port) | {"database.hostname": "127.0.0.1"}
        with Pipeline(tmp_path, source, {"type": sink, "path": place}, AT_ONCE).running() as running:
            waits_for(running, 200, "ok")
            address.move(free_port())
            waits_for(running, 503, "the source has been away for ")
            address.move(mysql_server.port)
            waits_for(running, 200, "ok")
            assert asked(running, "/health") == (404, "metrics are at /metrics, probes at /livez and /readyz\n")
            assert running.stop().code == 0


@pytest.fixture
def broker() -> Iterator[KafkaBroker]:
    """One of the test's own, to be stopped."""
    with KafkaBroker().start(**QUICK_TO_BELIEVE_IN_DEATH) as broker:
        yield broker


def test_a_sink_that_is_away_for_long(
    mysql_server: MySQLServer, orders: str, broker: KafkaBroker, tmp_path: Path
) -> None:
    sink = {"type": "kafka", "bootstrap.servers": broker.bootstrap}
    with Pipeline(tmp_path, source_of(mysql_server, orders), sink, AT_ONCE).running() as running:
        waits_for(running, 200, "ok")
        running.wait_until(lambda: _delivered(running) == 1, "the snapshot in Kafka")
        broker.kill()
        assert asked(running, "/readyz") == (200, "ok\n"), "nothing was to be delivered"
        mysql_server.run_sql("insert into t values (2);", database=orders)
        waits_for(running, 503, "the sink has been away for ")
        broker.start()
        waits_for(running, 200, "ok")
        assert running.stop().code == 0


def _delivered(running: Running) -> int:
    status = read_status(running.pipeline.state)
    return 0 if status is None else int(status["records"])


def test_the_snapshot_of_a_first_run() -> None:
    """Not ready before it begins; where none is asked for, before the log is read."""
    figures = Figures("p", "mysql", "p", "direct")
    assert unready(figures, 60) == "the pipeline is starting"
    figures.state = "running"
    assert unready(figures, 60) == "the snapshot has not begun"
    figures.snapshot.begin({"a": 3})
    assert unready(figures, 60) is None
    without = Figures("p", "mysql", "p", "direct", state="running", connected=True)
    assert unready(without, 60) is None
    assert unready(Figures("p", "mysql", "p", "direct", state="running", offset={"pos": 4}), 60) is None


def test_who_is_away_for_a_moment_only() -> None:
    figures = Figures("p", "mysql", "p", "direct", state="running", offset={"pos": 4})
    figures.source_away.begin()
    time.sleep(0.01)
    assert unready(figures, 60) is None
    assert unready(figures, 0.001) == "the source has been away for 0 s"
    figures.source_away.end()
    assert unready(figures, 0.001) is None
