"""Spark's driver killed at random instants: in the end the tables equal the source."""

from __future__ import annotations

import json
import os
import random
import time
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from crash.documents import DocumentWriter
from crash.proof import assert_complete, without_repeats
from crash.targets import FileTarget, KafkaTarget
from spark.conftest import FAST_JVM
from spark.shop import assert_equal, deliver, random_seed, shop_source
from testkit.journal import Journal
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.writers import BulkWriter, ShopWriter

pytestmark = [pytest.mark.spark, pytest.mark.real_python, pytest.mark.timeout(1800)]

LONGEST_WORK = 4.0
"""How many seconds a driver lives at the most once it has begun to write."""
FEW_ROWS = 100
"""The snapshot and bulk statements have more for a table, other changes mostly fewer."""


@pytest.mark.parametrize("mode", ["mirror", pytest.param("changelog", marks=pytest.mark.nightly)])
def test_the_table_equals_the_source_after_kills(
    session: SparkSession, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, mode: str, nightly: bool
) -> None:
    """A changelog has each change once, and the newest of each key come to the source's rows.

    Batches of many rows are written by Spark, those of few by the driver: a table changes hands again and again.
    """
    seed = random_seed()
    chance = random.Random(seed)
    pipeline = Pipeline(
        tmp_path,
        shop_source(mysql_server, unique_name),
        {"type": "spark", "mode": mode, "path": str(tmp_path / "lake"), "small.batch.rows": FEW_ROWS},
        {"runner": "spark", "spark": {"spark.master": "local[2]", **FAST_JVM}},
    )
    journal = Journal()
    with ShopWriter(mysql_server, unique_name, journal, seed, accounts=5000, pause=0.05):
        for _ in range(29 if nightly else 1):
            _kill_at_work(pipeline, chance)
        with BulkWriter(mysql_server, unique_name, journal, seed, rows=500):
            _kill_at_work(pipeline, chance)
    deliver(pipeline)
    assert_equal(session, mysql_server, unique_name, tmp_path, mode)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["file", "kafka"])
def test_no_event_is_lost_or_out_of_order_after_kills(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, kind: str, request: pytest.FixtureRequest
) -> None:
    """Behind a snapshot of empty tables, so that every change has an event."""
    seed = random_seed()
    chance = random.Random(seed)
    target = (
        FileTarget(tmp_path) if kind == "file" else KafkaTarget(request.getfixturevalue("kafka_broker"), unique_name)
    )
    pipeline = Pipeline(
        tmp_path,
        shop_source(mysql_server, unique_name),
        target.sink,
        {"spark": {"spark.master": "local[2]", **FAST_JVM}, "serializer": {"schemas.enable": False}},
    )
    assert pipeline.run("--once").code == 0
    journal = Journal()
    with (
        ShopWriter(mysql_server, unique_name, journal, seed, accounts=500, pause=0.02),
        BulkWriter(mysql_server, unique_name, journal, seed, rows=500),
    ):
        for _ in range(8):
            _kill_at_work(pipeline, chance, "--runner", "spark")
    ended = pipeline.run("--once", "--runner", "spark", seconds=300)
    assert ended.code == 0, ended.stderr
    assert_complete(journal.changes(), without_repeats(target.delivered()), defaultdict(int))


@pytest.mark.nightly
@pytest.mark.parametrize("columns", ["inferred", ""])
def test_the_mirror_equals_the_collections_after_kills(
    session: SparkSession,
    mongo: MongoReplicaSet,
    unique_name: str,
    tmp_path: Path,
    columns: str,
    nightly: bool,
    afterwards: ExitStack,
) -> None:
    seed = random_seed()
    chance, sizes = random.Random(seed), {"a": 3000, "b": 12_000}
    source = {
        "type": "mongodb",
        "topic.prefix": "p",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": unique_name,
        "capture.collection.groups": rf"{unique_name}\.a",
    }
    sink = {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake"), "document.columns": columns}
    options = {"runner": "spark", "spark": {"spark.master": "local[2]", **FAST_JVM}}
    pipeline = Pipeline(tmp_path, source, sink, options)
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        with DocumentWriter(client, unique_name, Journal(), seed, sizes):
            for _ in range(20 if nightly else 1):
                _kill_at_work(pipeline, chance)
        deliver(pipeline)
        for name in sizes:
            table = session.read.format("delta").load(str(tmp_path / "lake" / f"p.{unique_name}.{name}"))
            documents = {row.id: json.loads(row.document) for row in table.collect()}
            assert documents == {str(one["_id"]): one for one in client[unique_name][name].find()}
            if columns:
                assert table.where("token is distinct from get_json_object(document, '$.token')").count() == 0


def _kill_at_work(pipeline: Pipeline, chance: random.Random, *arguments: str) -> None:
    """Kills a run at a random instant after it has begun to write to its checkpoint or to the lake."""
    before = _files(pipeline)
    with pipeline.running(*arguments) as process:
        process.wait_until(lambda: bool(_files(pipeline) - before), "anything written", 240)
        time.sleep(chance.uniform(0, LONGEST_WORK))
        process.kill()


def _files(pipeline: Pipeline) -> set[Path]:
    """Of a folder that goes away meanwhile, as a checkpoint that was begun in vain does, nothing is told."""
    walks = (os.walk(pipeline.folder / folder) for folder in ("state/spark", "lake"))
    return {Path(place, name) for walk in walks for place, folders, names in walk for name in (*folders, *names)}
