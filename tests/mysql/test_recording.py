"""`cdc record` of a real server: the records of a new pipeline, and nothing that a running one would notice."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from cdckit.api.record import Record
from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.samples.lines import SampleLines
from cdckit.engine.samples.recording import sampled
from cdckit_mysql.options.connection import server_id_beside
from mysql.capture import config_for
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer

ALL_TYPES = """
CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(12, 3), b VARBINARY(9), f DOUBLE, u BIGINT UNSIGNED, at TIMESTAMP(6),
    j JSON, e ENUM('a', 'b') DEFAULT 'b', g POINT);
INSERT INTO t VALUES (1, -12.345, x'00FF', 1e300, 18446744073709551615, '2024-05-01 10:00:00.25', '{"a": [1]}', NULL,
    POINT(1, 2)), (2, NULL, NULL, NULL, NULL, '2024-05-01', NULL, 'a', NULL);
"""


def _parts(record: Record) -> tuple[object, ...]:
    headers = [(header.key, header.value) for header in record.headers]
    return record.topic, record.key, record.value, headers, record.position, record.timestamp, record.partition


def test_records_of_a_snapshot_come_back_and_no_history_is_written(
    db_server: SQLServer,
    sql: Callable[[str], None],
    database: str,
    kafka_broker: KafkaBroker,
    unique_name: str,
    tmp_path: Path,
) -> None:
    sql(ALL_TYPES)
    options = {
        "type": "mariadb" if "maria" in type(db_server).__name__.lower() else "mysql",
        "topic.prefix": "s",
        "database.hostname": "127.0.0.1",
        "database.port": db_server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.include.list": database,
        "include.schema.changes": False,
        "schema.history.internal": "kafka",
        "schema.history.internal.kafka.bootstrap.servers": kafka_broker.bootstrap,
        "schema.history.internal.kafka.topic": unique_name,
    }
    (tmp_path / "p.json").write_text(json.dumps({"runner": "direct", "source": options}))
    pipeline = load_pipeline(tmp_path / "p.json")
    given = [record for batch in sampled(pipeline, lambda: False, follow=False) for record in batch.records]
    lines = SampleLines().lines(given)
    found = list(read_records(lines.splitlines()))
    assert [_parts(record) for record in found] == [_parts(record) for record in given]
    assert len(found) == 2
    assert [record.value.schema.same_as(there.value.schema) for record, there in zip(found, given, strict=True)
            if record.value and there.value and record.value.schema] == [True, True]  # fmt: skip
    assert SampleLines().lines(found) == lines
    assert unique_name not in kafka_broker.topics()
    assert not (tmp_path / "state").exists()


def test_what_a_reading_beside_the_pipeline_leaves_out(db_server: SQLServer) -> None:
    config = config_for(db_server, heartbeat_action_query="INSERT INTO x VALUES (1)", database_server_id="6401")
    beside = config.beside()
    assert (beside.heartbeat_action_query, beside.takes_signals, beside.channels) == ("", False, ())
    assert config.database_server_id == 6401
    others = {server_id_beside(config.database_server_id) for _ in range(20_000)}
    assert others == set(range(6402, 7401))
    assert beside.database_server_id in others
