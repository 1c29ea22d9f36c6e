"""Debezium Server's own configuration, run as it is from a database into Kafka."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from kafka.reading import read_topic
from testkit.running import PASSWORD, USER, create_reader
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer


def test_application_properties_run_as_they_are(
    mysql_server: MySQLServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path
) -> None:
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql("create table t (n int primary key); insert into t values (1), (2);", database=unique_name)
    create_reader(mysql_server)
    (tmp_path / "application.properties").write_text(f"""
debezium.sink.type=kafka
debezium.sink.kafka.producer.bootstrap.servers={kafka_broker.bootstrap}
debezium.sink.kafka.producer.key.serializer=org.apache.kafka.common.serialization.StringSerializer
debezium.sink.kafka.producer.value.serializer=org.apache.kafka.common.serialization.StringSerializer
debezium.source.connector.class=io.debezium.connector.mysql.MySqlConnector
debezium.source.offset.storage.file.filename=data/offsets.dat
debezium.source.offset.flush.interval.ms=0
debezium.source.database.hostname={mysql_server.host}
debezium.source.database.port={mysql_server.port}
debezium.source.database.user={USER}
debezium.source.database.password=${{DB_PASSWORD}}
debezium.source.database.server.id=184054
debezium.source.topic.prefix={unique_name}
debezium.source.database.include.list={unique_name}
debezium.source.schema.history.internal=io.debezium.storage.file.history.FileSchemaHistory
debezium.source.schema.history.internal.file.filename=data/history.dat
debezium.format.value.schemas.enable=false
debezium.format.key.schemas.enable=false
debezium.transforms=unwrap
debezium.transforms.unwrap.type=io.debezium.transforms.ExtractNewRecordState
quarkus.log.level=INFO
""")
    command = [sys.executable, "-m", "cdckit", "run", "application.properties", "--once"]
    environment = {**os.environ, "DB_PASSWORD": PASSWORD}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "options without meaning here, left out: " in done.stderr
    found = read_topic(kafka_broker.bootstrap, f"{unique_name}.{unique_name}.t")
    assert [(json.loads(one.key or b""), json.loads(one.value or b"")) for one in found] == [
        ({"n": 1}, {"n": 1}),
        ({"n": 2}, {"n": 2}),
    ]
