"""Old formats of events, and servers whose log says less, equal to Debezium's recordings on live servers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from cdckit.api.struct import Struct
from cdckit.connector.envelope import NEW_KEY, OLD_KEY
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.table import Tables
from cdckit_mysql.values.column import column_value
from cdckit_mysql.values.options import ValueOptions
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from mysql.recordings import DATA, JSON_HEADERS, ByTopic, Event, by_topic, read_events, take_events
from mysql.test_parity import assert_same, workload_of
from testkit.servers.mysql_family import SQLServer

SCENARIOS = {
    "mysql56-mysql-3.6.3": ("dml", "types"),
    "mysql56-mysql-1.9.7": ("dml", "types"),
    "mariadb1011-mysql-1.9.7": ("dml", "dml-schema", "types"),
}
"""`ddl` is compared with its changes of definitions, in `test_schema_changes`."""
SERVERS = {"mysql56": "mysql56_server", "mariadb1011": "mariadb_server"}


def _cases() -> Iterator[ParameterSet]:
    """All that was recorded; by 1.9 topics do not come to the tables."""
    unequal = pytest.mark.unequal("1.9 tells of no TRUNCATE, and of zeros and times otherwise where rows are read")
    for target, scenarios in SCENARIOS.items():
        for scenario in scenarios:
            yield pytest.param(target, scenario, marks=[unequal] if target.endswith("1.9.7") else [])


@pytest.mark.parametrize(("target", "scenario"), list(_cases()))
def test_events_equal_the_recording(target: str, scenario: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    server: SQLServer = request.getfixturevalue(SERVERS[target.partition("-")[0]])
    configuration = DATA / target / scenario / "conf.properties"
    workload = workload_of(configuration)
    overrides = [JSON_HEADERS, f"state={tmp_path / 'state'}", f"source.database.port={server.port}"]
    old = target.endswith("1.9.7")
    if old:
        overrides.append("source.event.format=1.9")
    for part, script in (("snapshot", "setup"), ("stream", "stream")):
        server.run_sql_file(DATA / "sql" / f"{workload}.{script}.sql", force=True)
        output = tmp_path / "out.jsonl"
        pipeline = load_pipeline(configuration, [*overrides, f"sink.path={output}"], runner="direct", sink="file")
        DirectRunner(pipeline).run(once=True)
        assert_same(
            _shown(read_events(DATA / target / scenario / f"{part}.jsonl"), old=old),
            _shown(take_events(output), old=old),
        )


def _shown(events: Iterable[Event], *, old: bool) -> ByTopic:
    """By topic; those of 1.9.7 without headers, which were not recorded."""
    return by_topic({**event, "headers": []} if old else event for event in events)


@pytest.mark.parametrize("format_", ["1.9", "1.1"])
def test_a_changed_key_is_told_in_headers(format_: str, capture: NewCapture, sql: Callable[[str], None]) -> None:
    """Both of them, and none of the context headers that came with Debezium 3."""
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);")
    capture(event_format=format_).once()
    sql("UPDATE t SET id = 2;")
    delete, tombstone, create = capture(event_format=format_).once()
    found = [[(header.key, header.value.values) for header in record.headers] for record in (delete, tombstone, create)]
    assert found == [[(NEW_KEY, (2,))], [(NEW_KEY, (2,))], [(OLD_KEY, (1,))]]


@pytest.mark.parametrize("format_", ["1.9", "1.1"])
def test_names_of_schemas_are_avros(format_: str, capture: NewCapture, sql: Callable[[str], None]) -> None:
    sql("CREATE TABLE `t-1` (id INT PRIMARY KEY); INSERT INTO `t-1` VALUES (1);")
    (record,) = capture(event_format=format_, topic_prefix="a-b").once()
    assert isinstance(record.value, Struct)
    name = record.value.schema.name or ""
    assert name.startswith("a_b.")
    assert name.endswith(".t_1.Envelope")


def test_a_table_that_was_emptied_makes_no_event(capture: NewCapture, sql: Callable[[str], None]) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);")
    capture(event_format="1.9").once()
    sql("TRUNCATE TABLE t; INSERT INTO t VALUES (2);")
    assert changes(capture(event_format="1.9").once()) == [("c", "t", None, (2,))]


def test_the_schemas_of_heartbeats_have_no_version(capture: NewCapture, sql: Callable[[str], None]) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    capture(event_format="1.9").once()
    with capture(event_format="1.9", heartbeat_interval_ms=1).following() as batches:
        (beat, *_) = next(batch.records for batch in batches if batch.records)
    assert isinstance(beat.key, Struct)
    assert isinstance(beat.value, Struct)
    assert [(datum.schema.name, datum.schema.version) for datum in (beat.key, beat.value)] == [
        ("io.debezium.connector.common.ServerNameKey", None),
        ("io.debezium.connector.common.Heartbeat", None),
    ]


def test_events_of_1_1_have_transactions_where_they_are_asked_for(
    capture: NewCapture, sql: Callable[[str], None]
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    capture(event_format="1.1").once()
    sql("INSERT INTO t VALUES (1), (2);")
    _, *rows, _ = capture(event_format="1.1", provide_transaction_metadata=True).once()
    assert [record.value.to_dict()["transaction"]["total_order"] for record in rows] == [1, 2]  # type: ignore[union-attr]
    sql("INSERT INTO t VALUES (3);")
    (plain,) = capture(event_format="1.1").once()
    assert list(plain.value.to_dict()) == ["before", "after", "source", "op", "ts_ms"]  # type: ignore[union-attr]


def test_tables_of_mariadb_keep_their_gtids_in_the_connector_of_its_name(
    mariadb_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """Only the MySQL connector of the time could not read them."""
    config = config_for(
        mariadb_server,
        event_format="1.9",
        include_query=True,
        database_include_list=unique_name,
        snapshot_mode="no_data",
    )
    mariadb_server.run_sql(f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT PRIMARY KEY);")
    afterwards.callback(mariadb_server.execute, f"DROP DATABASE {unique_name}")
    with Capture(config, tmp_path / "state").closing() as reading:
        reading.once()
        mariadb_server.execute(f"INSERT INTO {unique_name}.t VALUES (1)")
        (record,) = reading.once()
    source = record.value.to_dict()["source"]  # type: ignore[union-attr]
    assert source["gtid"].startswith("0-")
    assert source["query"].startswith("INSERT")


DEFAULTS = {
    "FLOAT DEFAULT 0.1": ("float64", 0.1, None),
    "TIMESTAMP(6) NULL DEFAULT '2018-02-03 04:05:06.789'": ("string", "2018-02-03T04:05:06.789Z", None),
    "TIMESTAMP(3) NOT NULL DEFAULT '2018-02-03 04:05:06.7'": ("string", "2018-02-03T04:05:06.7Z", None),
    "TIME DEFAULT '-00:30:00'": ("int64", 1_800_000_000, None),
    "TIME DEFAULT '-01:30:00'": ("int64", -5_400_000_000, None),
    "BIGINT UNSIGNED DEFAULT 18446744073709551615": ("bytes", b"\0" + b"\xff" * 8, {"scale": "0"}),
    "DECIMAL(5,2) DEFAULT 1.5": ("bytes", b"\x00\x96", {"scale": "2", "connect.decimal.precision": "5"}),
}
"""What a live Debezium 1.9.7 made of columns: type, default, parameters."""


@pytest.mark.parametrize("declared", DEFAULTS)
def test_schemas_of_columns_are_those_of_1_9(declared: str) -> None:
    tables = Tables(lower_case_table_names=0)
    DdlReader(Flavor.MYSQL).apply(tables, "d", f"CREATE TABLE t (c {declared})")
    table = tables.get("d", "t")
    assert table is not None
    options = ValueOptions(event_format="1.9", bigint_unsigned_mode="precise")
    schema = column_value(table.columns[0], options, table.id).schema
    assert (schema.type, schema.default, schema.parameters) == DEFAULTS[declared]
