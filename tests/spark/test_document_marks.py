"""Mirrors of collections that are dropped, renamed, and read anew as a whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def test_mirrors_follow_their_collections(
    session: SparkSession, mongo: MongoReplicaSet, unique_name: str, tmp_path: Path
) -> None:
    """A collection that is dropped and filled again, one that is empty at a new snapshot, one that is renamed."""

    def run(state: str) -> None:
        source = {
            "type": "mongodb",
            "topic.prefix": "p",
            "mongodb.connection.string": mongo.uri,
            "database.include.list": unique_name,
        }
        sink = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake")}
        pipeline = Pipeline(tmp_path, source, sink, {"state": str(tmp_path / state)})
        SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)

    def ids(name: str) -> list[str]:
        frame = session.read.format("delta").load(str(tmp_path / "lake" / f"p.{unique_name}.{name}"))
        return sorted(row.id for row in frame.select("id").collect())

    with mongo.client() as client:
        shop = client[unique_name]
        for name in ("kept", "dropped", "cleared"):
            shop[name].insert_many([{"_id": 1}, {"_id": 2}])
        run("state")
        assert ids("dropped") == ids("cleared") == ["1", "2"]
        shop.dropped.insert_one({"_id": 3})
        shop.dropped.drop()
        shop.dropped.insert_one({"_id": 4})
        run("state")
        assert (ids("dropped"), ids("kept")) == (["4"], ["1", "2"])
        shop.cleared.delete_many({})
        shop.kept.delete_one({"_id": 1})
        run("another state")
        assert (ids("dropped"), ids("kept"), ids("cleared")) == (["4"], ["2"], [])
        shop.kept.rename("dropped", dropTarget=True)
        command = re.escape(f"`cdc resnapshot FILE --table {unique_name}.dropped`")
        with pytest.raises(SinkError, match=rf"took the rows of {unique_name}\.kept .*{command}"):
            run("another state")
        client.drop_database(unique_name)
