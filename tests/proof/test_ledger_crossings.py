"""The ledger where a pipeline is killed, fails over, reads tables again, or commits by transactions of Kafka."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cdckit.cli.main import call
from failover.journey import Work
from proof.shop import deliver, fill, piped, proved
from proof.test_files import written
from proof.test_ledger import said
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES, SQLServer
from testkit.servers.proxy import MovingAddress
from testkit.topology import topology

pytestmark = pytest.mark.timeout(900)

_OTHERS = {
    "runner": "direct", "ledger": True, "offset.flush.interval.ms": 100, "serializer": {"schemas.enable": False},
}  # fmt: skip


def to_file(folder: Path) -> dict[str, Any]:
    return {"type": "file", "path": str(folder / "out.jsonl")}


def to_lake(folder: Path) -> dict[str, Any]:
    return {"type": "delta", "mode": "mirror", "path": str(folder / "lake")}


def _count(server: SQLServer, database: str) -> int:
    [[count]] = server.execute(f"select count(*) from {database}.orders")
    return int(count)


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_kafka_exactly_once_counts_each_event_once(
    db_server: SQLServer,
    database: str,
    kafka_broker: KafkaBroker,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    fill(db_server, database, 300)
    sink = {
        "type": "kafka", "bootstrap.servers": kafka_broker.bootstrap, "delivery.guarantee": "exactly-once",
        "transactional.id": database,
    }  # fmt: skip
    pipeline = piped(
        db_server,
        database,
        tmp_path,
        sink,
        _OTHERS | {"name": database},
        topic_prefix=database,
        skipped_operations="none",
    )
    deliver(pipeline)
    with written(db_server, database) as statements:
        for _ in range(2):
            before = pipeline.offset()
            with pipeline.running() as process:
                process.wait_until(partial(_moved, pipeline, before))
                process.kill()
    assert statements
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", _count(db_server, database), "")
    assert proved(pipeline)["orders"].outcome == "equal"


def _moved(pipeline: Pipeline, before: object) -> bool:
    return pipeline.offset() != before


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
@pytest.mark.parametrize("sink", [to_file, to_lake])
def test_tables_that_are_read_again_while_they_change(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    sink: Callable[[Path], dict[str, Any]],
) -> None:
    fill(db_server, database, 600)
    db_server.execute(
        f"create table {database}.signals (id varchar(64) primary key, type varchar(32), data varchar(2048))"
    )
    create_reader(db_server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
    source = source_of(
        db_server,
        database,
        skipped_operations="none",
        table_include_list=rf"{database}\.orders",
        signal_data_collection=f"{database}.signals",
        incremental_snapshot_chunk_size=20,
    )
    pipeline = Pipeline(tmp_path, source, sink(tmp_path), _OTHERS)
    deliver(pipeline)
    wanted = json.dumps({"data-collections": [rf"{database}\.orders"]})
    with written(db_server, database) as statements:
        with pipeline.running() as process:
            process.wait_for("is read from")
            # Paused at once, or it might be over before it is seen to have begun.
            asked = "(1, 'execute-snapshot', %s), (2, 'pause-snapshot', %s)"
            db_server.execute(f"insert into {database}.signals values {asked}", (wanted, wanted))
            process.wait_until(lambda: "cdckit_incremental" in (pipeline.offset() or {}))
            process.kill()
        with pipeline.running() as process:
            db_server.execute(f"insert into {database}.signals values (3, 'resume-snapshot', %s)", (wanted,))
            process.wait_until(lambda: "cdckit_incremental" not in (pipeline.offset() or {}))
            process.kill()
        assert call(["resnapshot", str(pipeline.written()), "--table", f"{database}.orders"]) == 0
        deliver(pipeline)
    assert statements
    deliver(pipeline)
    assert said(pipeline, capfd) == ("equal", _count(db_server, database), "")
    assert proved(pipeline)["orders"].outcome == "equal"


@pytest.mark.parametrize("sink", [to_file, pytest.param(to_lake, marks=pytest.mark.nightly)])
def test_a_replica_takes_over(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], unique_name: str, sink: Callable[[Path], dict[str, Any]]
) -> None:
    work = Work(unique_name, random.Random(7))
    with topology(MySQLServer, performance_schema="OFF") as three:
        old, chosen = three.primary, three.replicas[0]
        work.create(old)
        create_reader(old)
        three.wait_for_replicas()
        with MovingAddress(old.port) as address:
            source = source_of(old, unique_name, database_ssl_mode="disabled", skipped_operations="none")
            source["database.port"] = address.port
            pipeline = Pipeline(tmp_path, source, sink(tmp_path), _OTHERS)
            deliver(pipeline)
            work.write(old, 50)
            deliver(pipeline)
            work.alone(chosen)
            work.write(old, 30)
            three.wait_for_replicas()
            old.kill()
            three.promote(chosen)
            address.move(chosen.port)
            work.write(chosen, 30)
            deliver(pipeline)
            [[items]] = chosen.execute(f"select count(*) from {unique_name}.items")
            assert said(pipeline, capfd, "items") == ("equal", items, "")
            found = {name: one.outcome for name, one in proved(pipeline).items()}
            assert found == {"items": "equal", "own": "equal"}
