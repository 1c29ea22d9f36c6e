"""Connections that are cut at any byte: reading goes on from the last batch, and nothing is missing or out of order."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random

import pytest

from bad_input.conftest import past_snapshot
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import CuttingProxy

pytestmark = pytest.mark.one_server

CUTS = 20
ROWS = 30
_ROUND_BYTES = 6000
"""The log of one round is longer."""


def test_the_log_is_read_on_from_wherever_it_was_cut(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    create_reader(db_server)
    db_server.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(200))", database=database)
    random = Random(7)
    with CuttingProxy(db_server.port) as proxy:
        options = {"database_port": proxy.port, "retriable_restart_connector_wait_ms": 20, "max_batch_size": 10}
        made = to_file(tmp_path, source_of(db_server, database, **options), **{"offset.flush.interval.ms": 10})
        with made.running() as process:
            past_snapshot(process)
            for number in range(1, CUTS + 1):
                proxy.cut_after(random.randint(1, _ROUND_BYTES))
                values = ", ".join(f"({row}, '{'x' * 200}')" for row in range((number - 1) * ROWS, number * ROWS))
                db_server.execute(f"INSERT INTO t VALUES {values}", database=database)
                process.wait_until(partial(_has_cut, proxy, number), "the cut")
                process.wait_until(partial(_has, made, number * ROWS - 1), "the last row")
            ended = process.stop()
    assert ended.code == 0, ended.stderr
    assert ended.stderr.count("trying again") > CUTS / 3, "the others hit connections that ask for the log's end"
    keys = [event["key"]["id"] for event in made.events()]
    assert keys == list(range(CUTS * ROWS)), "each row once, in order"


def _has_cut(proxy: CuttingProxy, times: int) -> bool:
    return proxy.cuts == times


def _has(pipeline: Pipeline, key: int) -> bool:
    return f'"id":{key}}}'.encode() in pipeline.output.read_bytes()
