"""The ledger of pipelines on Spark: tables in Delta, and messages by each way that they take there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from proof.shop import change, deliver, fill, piped, proved
from proof.test_ledger import said
from spark.checkpoints import forget_commit
from testkit.running import Pipeline
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer

pytestmark = [
    pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.parametrize("db_server", ["mysql"], indirect=True),
    pytest.mark.usefixtures("session"),
]  # fmt: skip


def kept(server: SQLServer, database: str, folder: Path, sink: dict[str, Any], **options: Any) -> Pipeline:
    others = {"runner": "spark", "ledger": True, "serializer": {"schemas.enable": False}}
    return piped(server, database, folder, sink, others, skipped_operations="none", **options)


def on_spark(pipeline: Pipeline) -> None:
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def _lose_a_commit(pipeline: Pipeline, server: SQLServer, database: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Delivers the rows, and a batch of changes that Spark is to repeat."""
    on_spark(pipeline)
    assert said(pipeline, capfd) == ("equal", 100, "")
    change(server, database)
    server.execute(f"update {database}.orders set id = id + 5000, ratio = 0.1 where id between 60 and 65")
    on_spark(pipeline)
    assert said(pipeline, capfd) == ("equal", 98, "")
    forget_commit(pipeline.state)
    assert said(pipeline, capfd) == ("equal", 100, ""), "the tables and the ledger as they were before the batch"


@pytest.mark.unequal("rows of the lake are forged")
@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_tables(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
) -> None:
    """A batch that comes again counts once, before and after; rows that are gone from the lake are laid to delivery."""
    monkeypatch.setattr(SparkRunner, "_take_back", lambda *_: None)  # as if it were killed
    fill(db_server, database, 100)
    pipeline = kept(db_server, database, tmp_path, {"type": "spark", "mode": mode, "path": str(tmp_path / "lake")})
    _lose_a_commit(pipeline, db_server, database, capfd)
    on_spark(pipeline)
    assert said(pipeline, capfd) == ("equal", 98, "")
    table = DeltaTable(str(tmp_path / "lake" / f"p.{database}.orders"))
    table.delete("id = 3")
    table.update(predicate="id = 5", updates={"name": "'forged'"})
    orders = proved(pipeline)["orders"]
    assert {json.loads(one.key)["id"]: (one.fault, one.lost_by) for one in orders.differences} == {
        3: ("missing", "delivery"), 5: ("changed", "delivery"),
    }  # fmt: skip
    assert said(pipeline, capfd)[:2] == ("unequal", 98)


@pytest.mark.parametrize(
    ("sink", "mode"),
    [
        ("delta", "changelog"),
        pytest.param("delta", "mirror", marks=pytest.mark.nightly),
        pytest.param("delta", "history", marks=pytest.mark.nightly),
        pytest.param("iceberg", "mirror", marks=pytest.mark.nightly),
    ],
)
def test_tables_that_the_driver_writes(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    sink: str,
    mode: str,
) -> None:
    """A batch that comes again counts once, before and after; the direct runner goes on behind Spark."""
    fill(db_server, database, 100)
    pipeline = kept(db_server, database, tmp_path, {"type": sink, "mode": mode, **_lake(sink, tmp_path)})
    with monkeypatch.context() as killed:
        killed.setattr(SparkRunner, "_take_back", lambda *_: None)
        _lose_a_commit(pipeline, db_server, database, capfd)
    db_server.execute(f"insert into {database}.orders (id) values (9001)")
    on_spark(pipeline)
    assert said(pipeline, capfd) == ("equal", 99, "")
    db_server.execute(f"delete from {database}.orders where id = 7")
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", 98, "")
    assert proved(pipeline)["orders"].outcome == "equal"


def _lake(sink: str, folder: Path) -> dict[str, str]:
    if sink == "delta":
        return {"path": str(folder / "lake")}
    return {"catalog.type": "sql", "catalog.uri": f"sqlite:///{folder}/catalog.db", "warehouse": str(folder / "lake")}


@pytest.mark.nightly
@pytest.mark.parametrize("sink", ["file", "kafka", "exactly-once"])
def test_messages(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    sink: str,
) -> None:
    """By one writer, by tasks, and in transactions; the direct runner goes on behind Spark."""
    target: dict[str, Any] = {"type": "file", "path": str(tmp_path / "out.jsonl")}
    if sink != "file":
        broker: KafkaBroker = request.getfixturevalue("kafka_broker")
        target = {
            "type": "kafka", "bootstrap.servers": broker.bootstrap, "topic.creation.default.replication.factor": 1,
        }  # fmt: skip
    if sink == "exactly-once":
        target |= {"delivery.guarantee": sink, "transactional.id": database, "offset.topic": f"offsets-{database}"}
    fill(db_server, database, 100)
    pipeline = kept(db_server, database, tmp_path, target, topic_prefix=f"p{database}")
    with monkeypatch.context() as killed:
        killed.setattr(SparkRunner, "_take_back", lambda *_: None)
        on_spark(pipeline)
        assert said(pipeline, capfd) == ("equal", 100, "")
        change(db_server, database)
        on_spark(pipeline)
        forget_commit(pipeline.state)
        assert said(pipeline, capfd)[0] == "equal"
    db_server.execute(f"insert into {database}.orders (id) values (9001)")
    on_spark(pipeline)
    assert said(pipeline, capfd) == ("equal", 99, "")
    change(db_server, database)
    deliver(pipeline)
    assert said(pipeline, capfd)[0] == "equal"
    assert proved(pipeline)["orders"].outcome == "equal"
