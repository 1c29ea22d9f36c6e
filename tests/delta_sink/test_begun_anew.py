"""A snapshot that was broken off and begins anew, of a source that goes away just then."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.hookspecs import hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.runner import Runner
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.runners.tail import TailRunner
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.lost_address import lost_at
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import MovingAddress
from testkit.waiting import wait_for

ANEW, AGAIN = "it begins anew", "trying again in 0.6 s (attempt 2)"
OPTIONS = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 0}


class _AtTheBegin:
    """Asks a pipeline to stop as its snapshot begins."""

    def __init__(self, stopping: StopSignal) -> None:
        self._stopping = stopping

    @hookimpl
    def cdckit_snapshot_started(self) -> None:
        self._stopping.stop()


class _BehindAPart:
    """The same once a part of it is delivered."""

    def __init__(self, stopping: StopSignal) -> None:
        self._stopping = stopping

    @hookimpl
    def cdckit_batch_committed(self) -> None:
        self._stopping.stop()


@pytest.mark.parametrize(
    ("sink", "others", "runner", "stops"),
    [
        ({"type": "delta", "path": "lake"}, {}, DirectRunner, _AtTheBegin),
        ({"type": "file", "path": "out.jsonl"}, {"runner": "spark", "tail": "direct"}, TailRunner, _BehindAPart),
    ],
    ids=["tables", "messages"],
)
def test_a_source_that_goes_away_as_the_snapshot_begins_anew_is_waited_for(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    afterwards: ExitStack,
    sink: Mapping[str, str],
    others: Mapping[str, Any],
    runner: type[Runner],
    stops: type[_AtTheBegin | _BehindAPart],
) -> None:
    """It has answered this run, though nothing was read: that the snapshot cannot go on."""
    create_reader(db_server)
    db_server.run_sql(
        "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)", database=database
    )
    address = afterwards.enter_context(MovingAddress(db_server.port))
    options = {"database_port": address.port, "snapshot_mode": "initial_only", "snapshot_batch_rows": 1}
    source, place = source_of(db_server, database, **options), str(tmp_path / sink["path"])
    pipeline = Pipeline(tmp_path, source, {**sink, "path": place}, {**OPTIONS, **others})
    _break_off(runner, pipeline, stops)
    db_server.execute("ALTER TABLE t RENAME COLUMN v TO w", database=database)
    with ThreadPoolExecutor(1) as pool, lost_at(address, ANEW) as lost:
        run = pool.submit(runner(pipeline.resolved()).run)
        wait_for(lambda: run.done() or AGAIN in caplog.text, "the second attempt")
        address.move(db_server.port)
        run.result()
    assert lost.is_set()


def _break_off(runner: type[Runner], pipeline: Pipeline, stops: type[_AtTheBegin | _BehindAPart]) -> None:
    stopping = StopSignal()
    plugin_manager().register(stops(stopping), "stops")
    try:
        runner(pipeline.resolved(), stopping).run()
    finally:
        plugin_manager().unregister(name="stops")
