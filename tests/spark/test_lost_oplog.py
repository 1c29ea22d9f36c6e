"""A place that is gone from the oplog, on Spark: `when_needed` takes its snapshot in the same run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.state.runner_handover import open_state
from cdckit.errors import SourceError
from mongodb.capture import Capture
from mongodb.small_oplog import fill_the_oplog, forgetful
from testkit.running import Pipeline, to_file
from testkit.states import state_in

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_a_batch_that_is_planned_and_gone_is_replaced_by_a_snapshot(session: SparkSession, tmp_path: Path) -> None:
    settings = {name: value for name, value in session.sparkContext.getConf().getAll() if name == "spark.master"}
    with forgetful() as replica_set, replica_set.client() as client:

        def run(mode: str) -> list[tuple[str, str]]:
            source = {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": replica_set.uri}
            source |= {"database.include.list": "d", "snapshot.mode": mode}
            pipeline = to_file(tmp_path, source, runner="spark", spark=settings)
            SparkRunner(load_pipeline(pipeline.written())).run(once=True)
            return [(event["value"]["op"], event["key"]["id"]) for event in pipeline.events()]

        client.d.a.insert_one({"_id": 1})
        assert run("initial") == [("r", "1")]
        client.d.a.insert_one({"_id": 2})
        ended = Capture(replica_set.uri, snapshot_mode="no_data")
        ended.once()
        assert ended.offset is not None
        _leave_planned(to_file(tmp_path, {}), {**ended.offset, "cdckit_after_snapshot": False})
        fill_the_oplog(client, ended.offset)
        with pytest.raises(SourceError, match=r"of \d+ s are lost; snapshot\.mode=when_needed takes a new snapshot"):
            run("initial")
        assert sorted(run("when_needed")[1:]) == [("r", "1"), ("r", "2")]


def _leave_planned(pipeline: Pipeline, end: dict[str, object]) -> None:
    """Makes the checkpoint one of a query that was killed behind the planning of a batch."""
    open_state(state_in(pipeline.state)).close()
    [checkpoint] = (pipeline.state / "spark").iterdir()
    offsets = checkpoint / "offsets"
    last = max(int(path.name) for path in offsets.iterdir() if path.name.isdecimal())
    version, metadata, _ = (offsets / str(last)).read_text().splitlines()
    (offsets / str(last + 1)).write_text("\n".join([version, metadata, json.dumps(end)]))
