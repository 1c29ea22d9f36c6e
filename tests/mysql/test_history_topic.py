"""The schema history's copy in a Kafka topic, which is read by a pipeline that has lost its own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cdckit.connector.resnapshot import ask
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import ConfigError, StateError
from cdckit_mysql.schema_history.history import HISTORY
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from mysql.signalling import SIGNALS, Signalled
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server


def _options(broker: KafkaBroker, topic: str, database: str) -> dict[str, str]:
    return {
        "schema_history_internal": "kafka",
        "schema_history_internal_kafka_bootstrap_servers": broker.bootstrap,
        "schema_history_internal_kafka_topic": topic,
        "schema_history_internal_store_only_captured_databases_ddl": "true",
        "database_include_list": database,
    }


def test_a_pipeline_that_has_lost_its_history_takes_it_from_the_topic(
    capture: NewCapture, sql: Callable[[str], None], database: str, kafka_broker: KafkaBroker, unique_name: str
) -> None:
    options = _options(kafka_broker, unique_name, database)
    sql(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) COLLATE utf8mb4_bin, KEY (v)); INSERT INTO t VALUES (1, 'a');"
    )
    capture(**options).once()
    sql(
        "ALTER TABLE t ADD w INT FIRST; CREATE TABLE u LIKE t; RENAME TABLE t TO x, u TO t;"
        "INSERT INTO t VALUES (7, 2, 'b');"
    )
    reading = capture(**options)
    assert changes(reading.once()) == [("c", "t", None, (7, 2, "b"))]
    at = reading.offset()
    sql("INSERT INTO t VALUES (8, 3, 'c'); ALTER TABLE t DROP v; INSERT INTO t VALUES (9, 4);")
    reading = capture(**options)
    reading.state.replace_history(HISTORY, [])
    assert changes(reading.once()) == [("c", "t", None, (8, 3, "c")), ("c", "t", None, (9, 4))]
    assert reading.offset() != at
    documents = [json.loads(message.value() or b"") for message in kafka_broker.messages(unique_name)]
    assert list(dict.fromkeys(document["ddl"] for document in documents))[-5:] == [
        "ALTER TABLE t ADD w INT FIRST",
        "CREATE TABLE u LIKE t",
        "RENAME TABLE t TO x",
        "RENAME TABLE u TO t",
        "ALTER TABLE t DROP v",
    ]
    told = [change for document in documents for change in document["tableChanges"]]
    renamed = {change["previousId"] for change in told if change["id"] == f'"{database}"."x"'}
    assert renamed == {f'"{database}"."t"'}
    assert documents[-1]["source"] == {"server": "p"}
    assert documents[-1]["position"]["gtids"]


def test_a_definition_that_the_server_has_told_is_in_the_topic(
    capture: NewCapture, sql: Callable[[str], None], database: str, kafka_broker: KafkaBroker, unique_name: str
) -> None:
    options = _options(kafka_broker, unique_name, database)
    sql("CREATE TABLE t (id INT PRIMARY KEY, x ENUM('a', 'b')); INSERT INTO t VALUES (1, 'a')")
    reading = capture(**options)
    list(reading.batches())
    sql(
        "SET sql_log_bin = 0; ALTER TABLE t MODIFY x INT; ALTER TABLE t MODIFY x ENUM('A1', 'B1'); SET sql_log_bin = 1;"
        "INSERT INTO t VALUES (2, 2)"
    )
    ask(reading.state, reading.offset(), [f"{database}.t"])
    assert [change for batch in reading.batches() for change in changes(batch)] == [
        ("c", "t", None, (2, "b")), ("r", "t", None, (1, "A1")), ("r", "t", None, (2, "B1")),
    ]  # fmt: skip
    reading = capture(**options)
    reading.state.replace_history(HISTORY, [])
    sql("INSERT INTO t VALUES (3, 1)")
    assert changes(reading.once()) == [("c", "t", None, (3, "A1"))]


def test_a_definition_that_a_signal_has_told_is_in_the_topic(
    sql: Callable[[str], None],
    db_server: SQLServer,
    database: str,
    kafka_broker: KafkaBroker,
    unique_name: str,
    tmp_path: Path,
) -> None:
    sql(f"{SIGNALS} CREATE TABLE t (id INT PRIMARY KEY, x ENUM('a', 'b'))")
    reading = Signalled(db_server, database, tmp_path, **_options(kafka_broker, unique_name, database))
    reading.once()
    sql("SET sql_log_bin = 0; ALTER TABLE t MODIFY x ENUM('A1', 'B1')")
    reading.signal("schema-changes", data_collections=[f"{database}.t"])
    reading.once()
    with closing(SqliteStateStore(tmp_path)) as state:
        state.replace_history(HISTORY, [])
    sql("INSERT INTO t VALUES (3, 1)")
    assert changes(reading.once()) == [("c", "t", None, (3, "A1"))]


def test_log_files_write_to_the_topic_and_take_from_it(
    capture: NewCapture,
    sql: Callable[[str], None],
    db_server: SQLServer,
    database: str,
    kafka_broker: KafkaBroker,
    unique_name: str,
    tmp_path: Path,
) -> None:
    options = _options(kafka_broker, unique_name, database)
    sql("FLUSH BINARY LOGS; CREATE TABLE t (id INT PRIMARY KEY)")
    capture(**options).once()
    sql("INSERT INTO t VALUES (1); ALTER TABLE t ADD v INT; INSERT INTO t VALUES (2, 2)")
    name = db_server.execute("SHOW BINARY LOGS")[-1][0]
    shutil.copy(db_server.datadir / name, tmp_path)
    reading = capture(binlog_files=str(tmp_path / name), **options)
    reading.state.replace_history(HISTORY, [])
    assert changes(reading.once()) == [("c", "t", None, (1,)), ("c", "t", None, (2, 2))]
    documents = [json.loads(message.value() or b"") for message in kafka_broker.messages(unique_name)]
    assert documents[-1]["ddl"] == "ALTER TABLE t ADD v INT"
    reading = capture(**options)
    reading.state.replace_history(HISTORY, [])
    sql("INSERT INTO t VALUES (3, 3)")
    assert changes(reading.once()) == [("c", "t", None, (3, 3))]


def test_a_topic_with_several_partitions_is_refused(
    db_server: SQLServer, database: str, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path
) -> None:
    kafka_broker.create_topic(unique_name, partitions=2)
    config = config_for(db_server, **_options(kafka_broker, unique_name, database))
    with Capture(config, tmp_path).closing() as reading, pytest.raises(StateError, match="has 2 partitions"):
        reading.once()
    with pytest.raises(ConfigError, match=r"needs schema\.history\.internal\.kafka\.topic"):
        config_for(db_server, **_options(kafka_broker, "", database))
