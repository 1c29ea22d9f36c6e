"""A position that is gone from the log, on Spark: `when_needed` takes its snapshot in the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.api.hookspecs import hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.state.runner_handover import open_state
from cdckit.errors import SourceError
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from testkit.servers.ports import free_port
from testkit.servers.proxy import MovingAddress
from testkit.states import state_in
from testkit.waiting import wait_for

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

AGAIN = "trying again in 0.6 s (attempt 2)"


def _run(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written())).run(once=True)


def _keys(pipeline: Pipeline, first: int) -> list[tuple[str, int]]:
    return [(event["value"]["op"], event["key"]["id"]) for event in pipeline.events()[first:]]


class _LosesIt:
    """Hears of a run's checkpoints; as the second one is begun, the source goes away."""

    def __init__(self, address: MovingAddress) -> None:
        self.checkpoints = 0
        self._address = address

    @hookimpl
    def cdckit_started(self) -> None:
        self.checkpoints += 1
        if self.checkpoints == 2:
            self._address.move(free_port())


def test_a_batch_that_is_planned_and_gone_is_replaced_by_a_snapshot(
    session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Of a source that goes away just then it is taken once that is back."""
    with MySQLServer() as server, MovingAddress(server.port) as address:
        server.run_sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1);")
        create_reader(server)
        settings = {name: value for name, value in session.sparkContext.getConf().getAll() if name == "spark.master"}

        def pipeline(mode: str) -> Pipeline:
            source = source_of(server, "d", snapshot_mode=mode, database_port=address.port)
            return to_file(tmp_path, source, runner="spark", spark=settings)

        _run(pipeline("initial"))
        assert _keys(pipeline("initial"), 0) == [("r", 1)]
        server.run_sql("INSERT INTO d.t VALUES (2);")
        _leave_planned(pipeline("initial"), server)
        server.run_sql("INSERT INTO d.t VALUES (3); FLUSH LOGS;")
        server.purge_logs()
        with pytest.raises(SourceError, match="changes are lost"):
            _run(pipeline("initial"))
        with ThreadPoolExecutor(1) as pool, _hearing(_LosesIt(address)) as heard:
            run = pool.submit(_run, pipeline("when_needed"))
            wait_for(lambda: run.done() or AGAIN in caplog.text, "the second attempt")
            address.move(server.port)
            run.result()
        assert heard.checkpoints == 2
        assert sorted(_keys(pipeline("when_needed"), 1)) == [("r", 1), ("r", 2), ("r", 3)]
        server.run_sql("INSERT INTO d.t VALUES (4);")
        _run(pipeline("when_needed"))
        assert _keys(pipeline("when_needed"), 4) == [("c", 4)]


@contextmanager
def _hearing(plugin: _LosesIt) -> Iterator[_LosesIt]:
    plugin_manager().register(plugin, "loses")
    try:
        yield plugin
    finally:
        plugin_manager().unregister(name="loses")


def _leave_planned(pipeline: Pipeline, server: MySQLServer) -> None:
    """Makes the checkpoint one of a query that was killed behind the planning of a batch, as far as it is told here."""
    state = open_state(state_in(pipeline.state))
    state.close()
    [checkpoint] = (pipeline.state / "spark").iterdir()
    offsets = checkpoint / "offsets"
    last = max(int(path.name) for path in offsets.iterdir() if path.name.isdecimal())
    version, metadata, offset = (offsets / str(last)).read_text().splitlines()
    [(file, pos, *_)] = server.execute("SHOW BINARY LOG STATUS")
    planned = {**json.loads(offset), "file": file, "pos": pos, "cdckit_after_snapshot": False}
    (offsets / str(last + 1)).write_text("\n".join([version, metadata, json.dumps(planned)]))
