"""Signals: tables read again, in chunks or at one point, and what else a source is told to do."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cdckit.cli.main import cdc
from cdckit.cli.settings import Settings
from cdckit.connector.signals import Signal, send
from cdckit.connector.signals.inbox import leave
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.requirements import beyond_data_source, beyond_spark
from cdckit.errors import ConfigError, SourceError
from mysql.capture import changes, config_for
from mysql.signalling import SIGNALS, Signalled
from testkit.running import create_reader, source_of, to_file
from testkit.servers.mysql56 import MySQL56Server
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import CuttingProxy

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]


@pytest.fixture
def signalled(db_server: SQLServer, database: str, sql: Sql, tmp_path: Path) -> Iterator[Signalled]:
    """A capture of tables `t` (100 rows) and `u` (one) that has come to the log's end."""
    sql(SIGNALS)
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT); CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (1);")
    sql(f"INSERT INTO t VALUES {', '.join(f'({number}, {number % 2})' for number in range(100))};")
    capture = Signalled(db_server, database, tmp_path / "state")
    capture.once()
    yield capture


def _marks(capture: Signalled) -> list[str]:
    topic = f"p.{capture.database}.signals"
    found = changes([record for record in capture.records if record.topic == topic])
    return [change[3][1] for change in found if change[0] == "c"]


@pytest.mark.parametrize("strategy", ["INSERT_INSERT", "insert_delete"])
def test_a_table_is_read_again(signalled: Signalled, strategy: str) -> None:
    signalled.options["incremental_snapshot_watermarking_strategy"] = strategy
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    records = signalled.once()
    assert [row[0] for row in signalled.reads()] == list(range(100))
    marks = {str(change["source"]["snapshot"]) for record in records if (change := _envelope(record))["op"] == "r"}
    assert marks == {"incremental"}
    positions = [record.position for record in records if record.position]
    assert positions == sorted(set(positions))
    assert len(positions) == len(records)
    closes = _marks(signalled).count("snapshot-window-close")
    left = signalled.server.execute(
        f"SELECT COUNT(*) FROM {signalled.database}.signals WHERE type <> 'execute-snapshot'"
    )
    assert (closes == 0, left[0][0] == 0) == ((True, True) if strategy == "insert_delete" else (False, False))


def _envelope(record: Any) -> Any:
    return record.value.to_dict() if record.value is not None else {"op": None}


KEYS = {
    "two columns": ("a INT, b INT, PRIMARY KEY (a, b)", [f"{n // 5}, {n % 5}" for n in range(40)]),
    "text": ("a VARCHAR(20) PRIMARY KEY", [f"'{n:03d}''\\\\{chr(0x100 + n)}'" for n in range(40)]),
    "bytes": ("a VARBINARY(8) PRIMARY KEY", [f"X'{n * 6:02X}00FF'" for n in range(40)]),
    "enum": ("a ENUM('z', 'y', 'x', 'w', 'v', 'u', 't', 's', 'r', 'q') PRIMARY KEY", [f"'{c}'" for c in "zyxwvutsrq"]),
    "time": ("a DATETIME(6) PRIMARY KEY", [f"'2026-01-01 00:00:00.{n:06d}'" for n in range(40)]),
    "negative": ("a DECIMAL(10, 2), b TIME, PRIMARY KEY (b, a)", [f"{n - 20}.5, '-0{n % 3}:00:00'" for n in range(40)]),
    "unique": ("a BIGINT UNSIGNED NOT NULL UNIQUE, b INT", [f"{2**64 - 1 - n}, {n}" for n in range(40)]),
    "bit": ("a BIT(10) PRIMARY KEY", [f"b'{n * 25:b}'" for n in range(40)]),
    "float": ("a FLOAT PRIMARY KEY", [f"{1234561 + n}" for n in range(44)]),
    "floats": ("a FLOAT(7, 2), b INT, PRIMARY KEY (a, b)", [f"{n // 20}.1, {n}" for n in range(40)]),
    "no date": ("a DATE, b INT, PRIMARY KEY (a, b)", [f"'0000-00-00', {n}" for n in range(40)]),
}


def test_every_kind_of_key_can_be_followed(signalled: Signalled, sql: Sql) -> None:
    for number, (columns, rows) in enumerate(KEYS.values()):
        values = ", ".join(f"({row})" for row in rows)
        sql(f"SET sql_mode = ''; CREATE TABLE k{number} ({columns}); INSERT INTO k{number} VALUES {values};")
    signalled.signal(data_collections=[rf"{signalled.database}\.k\d+"])
    signalled.once()
    for number, (kind, (_, rows)) in enumerate(KEYS.items()):
        found = signalled.reads(f"k{number}")
        assert len(found) == len(set(found)) == len(rows), kind


def test_it_goes_on_after_restarts_while_rows_change(signalled: Signalled, sql: Sql) -> None:
    """The newest state of each row comes last, whatever is written meanwhile, and nothing is read twice."""
    signalled.signal(data_collections=[rf"{signalled.database}\.(t|u)"])
    runs = 0
    while ("Incremental", "COMPLETED") not in signalled.told():
        runs += 1
        sql(f"UPDATE t SET v = {runs + 10} WHERE id IN ({runs * 7}, {runs * 7 + 8});")
        signalled.once(most=5)
    signalled.once()
    assert runs > 2
    newest = {change[3][0]: change[3][1] for change in _of(signalled, "t") if change[3]}
    assert newest == dict(signalled.server.execute(f"SELECT id, v FROM {signalled.database}.t"))
    assert len(signalled.reads()) == len({row[0] for row in signalled.reads()})
    assert signalled.reads("u") == [(1,)]
    assert "cdckit_incremental" not in (signalled.offset or {})


def test_it_waits_while_nobody_listens(signalled: Signalled, sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    signalled.once(most=5)
    options, signalled.options = signalled.options, {**signalled.options, "signal_data_collection": ""}
    for number in (11, 12):
        sql(f"UPDATE t SET v = {number} WHERE id = 1;")
        assert [record.topic for record in signalled.once()][-1:] == [f"p.{signalled.database}.t"]
    assert caplog.text.count(f"{signalled.database}.t: the snapshot that a signal has asked for waits") == 2
    signalled.options = options
    signalled.once()
    assert signalled.told()[-1] == ("Incremental", "COMPLETED")
    assert len({row[0] for row in signalled.reads()}) == len(signalled.reads()) == 100


def _of(capture: Signalled, table: str) -> list[tuple[Any, ...]]:
    return changes([record for record in capture.records if record.topic == f"p.{capture.database}.{table}"])


def test_a_part_of_a_table(signalled: Signalled, caplog: pytest.LogCaptureFixture) -> None:
    name = f"{signalled.database}.t"
    nonsense = {"data-collection": name, "filter": "no such column"}
    signalled.signal(data_collections=[name], additional_conditions=[nonsense])
    odd = {"data-collection": name, "filter": "v = 1 AND id < 50 OR id = 98"}
    signalled.signal(data_collections=[name], additional_conditions=[odd])
    signalled.once()
    assert [row[0] for row in signalled.reads()] == [*range(1, 50, 2), 98]
    assert "is refused: no column of" in caplog.text


def test_a_table_without_rows_is_told_to_be_empty(signalled: Signalled, sql: Sql) -> None:
    sql("CREATE TABLE k (id INT PRIMARY KEY);")
    signalled.signal(data_collections=[f"{signalled.database}.{table}" for table in "kt"])
    signalled.once()
    scans = [one.additional_data for one in signalled.notifications if one.type == "TABLE_SCAN_COMPLETED"]
    assert [scan["status"] for scan in scans] == ["EMPTY", "SUCCEEDED"]
    assert scans[0]["total_rows_scanned"] == "0"


def test_a_table_without_a_key_needs_a_surrogate(signalled: Signalled, sql: Sql) -> None:
    sql("CREATE TABLE k (a INT, b INT); INSERT INTO k VALUES (NULL, 1), (3, 2), (2, 3), (2, 4), (1, 5);")
    signalled.options["incremental_snapshot_chunk_size"] = 2
    name = f"{signalled.database}.k"
    signalled.signal(data_collections=[name])
    signalled.once()
    assert signalled.reads("k") == []
    assert signalled.notifications[-2].additional_data["status"] == "NO_PRIMARY_KEY"
    signalled.signal(data_collections=[name], surrogate_key="b")
    signalled.once()
    assert [row[1] for row in signalled.reads("k")] == [1, 2, 3, 4, 5]
    sql("ALTER TABLE k ADD id INT NOT NULL AUTO_INCREMENT PRIMARY KEY FIRST;")
    signalled.signal(data_collections=[name], surrogate_key="a")
    signalled.once()
    assert [row[1] for row in signalled.reads("k")[5:]] == [None, 1, 2, 2, 3]


def test_a_table_whose_rows_cannot_be_told_apart(signalled: Signalled, sql: Sql) -> None:
    """A masked key would put rows together that are not the same; as the records' key it is whole."""
    sql("CREATE TABLE k (a VARCHAR(20) PRIMARY KEY, b INT NOT NULL); INSERT INTO k VALUES ('one', 1), ('two', 2);")
    name = f"{signalled.database}.k"
    signalled.options |= {"column.mask.with.3.chars": f"{name}.a", "message.key.columns": f"{name}:b"}
    signalled.signal(data_collections=[name])
    signalled.once()
    assert signalled.reads("k") == []
    assert signalled.notifications[-2].additional_data["status"] == "NO_PRIMARY_KEY"
    del signalled.options["message.key.columns"]
    signalled.signal(data_collections=[name])
    signalled.once()
    assert signalled.reads("k") == [("***", 1), ("***", 2)]


def test_pausing_resuming_stopping(signalled: Signalled) -> None:
    both = [f"{signalled.database}.t", f"{signalled.database}.u"]
    signalled.signal("pause-snapshot")  # there is nothing to pause yet
    signalled.signal(data_collections=both)
    signalled.signal("pause-snapshot")
    signalled.once()
    read = signalled.reads()
    assert len(read) < 100
    signalled.once()
    signalled.signal("stop-snapshot", data_collections=both[:1], type="incremental")
    signalled.signal("resume-snapshot")
    signalled.once()
    assert (signalled.reads(), signalled.reads("u")) == (read, [(1,)])
    kinds = [kind for what, kind in signalled.told() if what == "Incremental" and kind != "IN_PROGRESS"]
    assert kinds == ["STARTED", "PAUSED", "RESUMED", "TABLE_SCAN_COMPLETED", "COMPLETED"]


def test_stopping_everything(signalled: Signalled) -> None:
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    signalled.follow(until=lambda: bool(signalled.reads()))
    signalled.signal("stop-snapshot")
    signalled.once()
    assert 0 < len(signalled.reads()) < 100
    assert signalled.told()[-1] == ("Incremental", "ABORTED")


def test_a_definition_that_changes_on_the_way(signalled: Signalled, sql: Sql) -> None:
    """A chunk that was read before the change comes with its columns of then, or is read again."""
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    signalled.follow(until=lambda: len(signalled.reads()) >= 20)
    sql("ALTER TABLE t ADD first_one INT FIRST, MODIFY v BIGINT; UPDATE t SET first_one = 5 WHERE id >= 90;")
    signalled.once()
    widths = [len(row) for row in signalled.reads()]
    assert widths == sorted(widths)
    assert [row[-2] for row in signalled.reads()] == list(range(100))


def test_a_blocking_snapshot_holds_the_log(signalled: Signalled, sql: Sql) -> None:
    odd = {"data-collection": f"{signalled.database}.t", "filter": f"SELECT * FROM {signalled.database}.t WHERE v = 1"}
    names = [f"{signalled.database}.t", f"{signalled.database}.u"]
    signalled.signal(data_collections=names, type="blocking", additional_conditions=[odd])
    sql("INSERT INTO u VALUES (2);")
    records = signalled.once()
    assert [row[0] for row in signalled.reads()] == list(range(1, 100, 2))
    assert _of(signalled, "u") == [("r", "u", None, (1,)), ("r", "u", None, (2,)), ("c", "u", None, (2,))]
    positions = [record.position for record in records]
    assert positions == sorted(set(positions))
    kinds = [kind for what, kind in signalled.told() if what == "Initial"][3:]
    scans = ["IN_PROGRESS", "TABLE_SCAN_COMPLETED"]
    assert kinds == ["STARTED", *scans, *scans, "COMPLETED"]


def test_an_old_server_without_gtids(unique_name: str, tmp_path: Path) -> None:
    """Marks and blocking snapshots do without; reading only is refused."""
    with MySQL56Server().start(gtid_mode="OFF", enforce_gtid_consistency=False) as server:
        server.create_user("dbz", "dbz")
        server.run_sql(
            f"CREATE DATABASE {unique_name}; USE {unique_name}; {SIGNALS} CREATE TABLE t (id INT PRIMARY KEY)"
        )
        server.run_sql(f"INSERT INTO {unique_name}.t VALUES {', '.join(f'({number})' for number in range(20))}")
        capture = Signalled(server, unique_name, tmp_path / "state")
        capture.once()
        for kind in ("incremental", "blocking"):
            capture.signal(data_collections=[f"{unique_name}.t"], type=kind)
        capture.once()
        assert sorted(capture.reads()) == sorted([(number,) for number in range(20)] * 2)
        capture.options["read_only"] = "true"
        with pytest.raises(SourceError, match=r"read\.only goes by GTIDs"):
            capture.once()


def test_signals_of_other_channels(signalled: Signalled, tmp_path: Path) -> None:
    """A file, whose lines are taken out; this process; and the folder where `cdc signal` leaves them."""
    file = tmp_path / "signals"
    signalled.options |= {"signal_enabled_channels": "file,in-process", "signal_file": str(file)}
    request = {"data-collections": [f"{signalled.database}.u"]}
    signal = Signal("1", "execute-snapshot", request)
    file.write_text(json.dumps({"id": "1", "type": "execute-snapshot", "data": request}) + "\nnonsense\n")
    signalled.once()
    assert len(signalled.reads("u")) == 1
    send("p", signal)
    signalled.once()
    assert len(signalled.reads("u")) == 2
    leave(signalled.folder, signal)
    signalled.once()
    assert len(signalled.reads("u")) == 3
    assert file.read_text() == ""
    assert list((signalled.folder / "signals").iterdir()) == []
    signalled.signal(data_collections=[f"{signalled.database}.u"])
    signalled.once()
    assert len(signalled.reads("u")) == 3, "the channel source is not enabled"


def test_nothing_is_written_where_it_is_read_only(signalled: Signalled, sql: Sql) -> None:
    signalled.options |= {"read_only": "true", "signal_enabled_channels": "source,in-process"}
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    sql("UPDATE t SET v = 77 WHERE id = 50;")
    records = signalled.once()
    assert [row[0] for row in signalled.reads()] == list(range(100))
    assert {change[3][0]: change[3][1] for change in _of(signalled, "t")}[50] == 77
    assert set(_marks(signalled)) == {"execute-snapshot"}
    positions = [record.position for record in records]
    assert positions == sorted(set(positions))


def test_a_table_that_is_captured_from_now_on(signalled: Signalled, sql: Sql) -> None:
    """It is read while the log is followed; the others go on as ever."""
    signalled.options |= {"table_include_list": rf"{signalled.database}\.t", "table_exclude_list": ""}
    sql("INSERT INTO u VALUES (2); INSERT INTO t VALUES (100, 0);")
    signalled.once()
    assert (_of(signalled, "u"), len(_of(signalled, "t"))) == ([], 1)
    signalled.options["table_include_list"] = rf"{signalled.database}\.(t|u)"
    signalled.signal(data_collections=[f"{signalled.database}.u"])
    sql("INSERT INTO u VALUES (3);")
    signalled.once()
    assert {change[3] for change in _of(signalled, "u")} == {(1,), (2,), (3,)}


def test_a_table_whose_definition_was_not_followed(signalled: Signalled, sql: Sql) -> None:
    """Only captured tables' definitions are kept; that of a table which is captured later is the server's."""
    only = {"schema_history_internal_store_only_captured_tables_ddl": "true"}
    signalled.options |= {**only, "database_include_list": "", "table_include_list": rf"{signalled.database}\.t"}
    signalled.offset = None
    signalled.folder = signalled.folder.with_name("another")
    signalled.once()
    sql("ALTER TABLE u ADD v INT; INSERT INTO u VALUES (2, 2);")
    signalled.once()
    signalled.options["table_include_list"] = rf"{signalled.database}\.(t|u)"
    signalled.signal(data_collections=[f"{signalled.database}.u"])
    sql("INSERT INTO u VALUES (3, 3); INSERT INTO t VALUES (1000, 0);")
    signalled.once()
    assert {change[3] for change in _of(signalled, "u")} == {(1, None), (2, 2), (3, 3)}


def test_definitions_that_are_told(signalled: Signalled, sql: Sql) -> None:
    """In Debezium's form, or as the server has them; they hold after a restart, too."""
    signalled.options["include_schema_changes"] = "true"
    columns = [
        {"name": "id", "typeName": "INT UNSIGNED", "length": 11, "position": 1, "optional": False},
        {"name": "renamed", "typeName": "ENUM", "enumValues": ["'a'", "'b'"], "position": 2, "charsetName": "utf8mb4"},
    ]
    table = {"primaryKeyColumnNames": ["id"], "columns": columns, "defaultCharsetName": "utf8mb4"}
    change = {"type": "ALTER", "id": f'"{signalled.database}"."t"', "table": table}
    signalled.signal("schema-changes", database=signalled.database, changes=[change])
    told = [record for record in signalled.once() if record.topic == "p"]
    assert ["renamed" in str(record.value) for record in told] == [True]
    signalled.signal("log", message="the definition is no longer the server's")
    sql("INSERT INTO u VALUES (2);")
    signalled.once()
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    signalled.once()
    assert signalled.reads() == []
    assert signalled.notifications[-2].additional_data["status"] == "UNKNOWN_SCHEMA"
    signalled.signal("schema-changes", data_collections=[f"{signalled.database}.t"])
    signalled.signal(data_collections=[f"{signalled.database}.t"])
    signalled.once()
    assert len(signalled.reads()) == 100
    signalled.signal("schema-changes", changes=[{"type": "ALTER"}])
    assert signalled.once()


def test_the_log_is_read_from_another_place(signalled: Signalled, db_server: SQLServer, sql: Sql) -> None:
    signalled.options["signal_enabled_channels"] = "in-process"
    at = dict(signalled.offset or {})
    sql("INSERT INTO u VALUES (2); INSERT INTO u VALUES (3);")
    signalled.once()
    send("p", Signal("1", "set-binlog-position", {"binlog_filename": at["file"], "binlog_position": at["pos"]}))
    signalled.once()
    again = signalled.once()
    assert [change[3] for change in changes(again)] == [(2,), (3,)]
    send("p", Signal("2", "set-binlog-position", {"gtid_set": at["gtids"]}))
    signalled.follow(until=lambda: len(_of(signalled, "u")) >= 6)
    assert [change[3] for change in _of(signalled, "u")[4:]] == [(2,), (3,)]
    send("p", Signal("3", "set-binlog-position", {"binlog_filename": "binlog.999999", "binlog_position": 4}))
    assert signalled.once() == []


def _from_gtids(number: str, gtids: str) -> Signal:
    return Signal(number, "set-binlog-position", {"gtid_set": gtids})


def test_a_signal_that_cannot_be_carried_out_comes_again(signalled: Signalled, db_server: SQLServer, sql: Sql) -> None:
    """The server hangs up on the connection that the signal needs: it is carried out at the next attempt."""
    signalled.options["signal_enabled_channels"] = "in-process"
    at, deadline = dict(signalled.offset or {}), time.monotonic() + 120
    sql("INSERT INTO u VALUES (2); INSERT INTO u VALUES (3);")
    signalled.once()
    batches, sent = signalled.batches, False
    with CuttingProxy(db_server.port) as proxy:
        signalled.options["database_port"] = proxy.port

        def again() -> bool:
            nonlocal sent
            if not sent and signalled.batches > batches + 1:
                sent = True
                proxy.cut_after(20)
                send("p", _from_gtids("1", at["gtids"]))
            return len(_of(signalled, "u")) >= 4 or time.monotonic() > deadline

        signalled.follow(until=again)
    assert proxy.cuts == 1
    assert [change[3] for change in _of(signalled, "u")] == [(2,), (3,)] * 2


def test_a_lost_connection_loses_no_signal(signalled: Signalled, db_server: SQLServer) -> None:
    """Neither one that is being carried out, nor one that waits behind another; no row of a snapshot comes twice."""
    signalled.options["signal_enabled_channels"] = "in-process"
    cuts = list(range(10, 100, 20))
    with CuttingProxy(db_server.port) as proxy:
        signalled.options["database_port"] = proxy.port
        for number, table in enumerate("tu"):
            name = f"{signalled.database}.{table}"
            send("p", Signal(f"s{number}", "execute-snapshot", {"data-collections": [name]}))

        def read() -> bool:
            if cuts and len(signalled.reads()) >= cuts[0]:
                cuts.pop(0)
                proxy.cut()
            return bool(signalled.reads("u"))

        signalled.follow(until=read)
    assert not cuts
    assert [row[0] for row in signalled.reads()] == list(range(100))
    assert signalled.reads("u") == [(1,)]


def test_the_first_offset_behind_a_signal_knows_of_it(signalled: Signalled, sql: Sql) -> None:
    """However soon the source is stopped then."""
    signalled.options["signal_enabled_channels"] = "in-process"
    at = dict(signalled.offset or {})
    sql("INSERT INTO u VALUES (2);")
    signalled.once()
    send("p", _from_gtids("1", at["gtids"]))
    signalled.once(most=1)
    assert [change[3] for change in changes(signalled.once())] == [(2,)]


def test_a_place_that_is_purged_is_refused(signalled: Signalled, sql: Sql, caplog: pytest.LogCaptureFixture) -> None:
    signalled.options["signal_enabled_channels"] = "in-process"
    sql("FLUSH BINARY LOGS; INSERT INTO u VALUES (2);")
    signalled.once()
    signalled.server.end_log_readers()  # one of an earlier test holds its file for a while
    signalled.server.purge_logs()
    send("p", _from_gtids("1", ""))
    assert signalled.once() == []
    assert "signal '1': the binary log" in caplog.text


def test_a_replica_that_applies_out_of_order_is_refused(
    mysql_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {SIGNALS}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    capture = Signalled(mysql_server, unique_name, tmp_path / "state", read_only="true")
    mysql_server.run_sql(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = 1, SOURCE_USER = 'nobody';"
        "SET GLOBAL replica_preserve_commit_order = OFF, GLOBAL replica_parallel_workers = 4;"
    )
    try:
        with pytest.raises(SourceError, match="with 4 workers and out of order"):
            capture.once()
    finally:
        mysql_server.run_sql("SET GLOBAL replica_preserve_commit_order = ON; RESET REPLICA ALL;")
    capture.once()


def test_a_job_of_ones_own_refuses_what_needs_a_runner(mysql_server: SQLServer, tmp_path: Path) -> None:
    source = source_of(mysql_server, "d", signal_data_collection="d.signals", notification_enabled_channels="log")
    pipeline = load_pipeline(to_file(tmp_path, source).written(), runner="spark")
    assert beyond_spark(pipeline) == []
    assert [problem.partition(":")[0] for problem in beyond_data_source(pipeline)] == [
        "source.signal.*",
        "source.notification.enabled.channels",
    ]


def test_a_pipeline_is_told_by_command(
    mysql_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """`cdc signal` reaches a pipeline that runs; one that has not enabled the channel is refused."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY)")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    mysql_server.run_sql(f"INSERT INTO {unique_name}.t VALUES (1), (2), (3)")
    create_reader(mysql_server)
    source = source_of(mysql_server, unique_name, snapshot_mode="no_data", signal_poll_interval_ms=50)
    pipeline = to_file(tmp_path, source)
    command = ["signal", str(pipeline.written()), "execute-snapshot", "--table", f"{unique_name}.t", "--blocking"]
    refused = CliRunner().invoke(cdc, command, obj=Settings())
    assert "should name in-process" in str(refused.exception)
    pipeline = to_file(tmp_path, {**source, "signal.enabled.channels": "in-process"})
    with pipeline.running() as process:
        process.wait_for("snapshot at")
        told = CliRunner().invoke(
            cdc, ["signal", str(pipeline.written()), *command[2:], "--id", "mine"], obj=Settings()
        )
        assert told.output == "mine\n"
        process.wait_until(lambda: pipeline.output.exists() and len(pipeline.output.read_bytes().splitlines()) == 3)
        assert process.stop().code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signal_data_collection": "signals"}, r"should be of the form database\.name"),
        ({"signal_enabled_channels": "jmx"}, "there is no JVM"),
        ({"signal_enabled_channels": "pigeon"}, "'pigeon' is no channel"),
        ({"signal_enabled_channels": "kafka"}, r"signal\.kafka\.bootstrap\.servers is required"),
        ({"notification_enabled_channels": "sink"}, r"notification\.sink\.topic\.name is required"),
        ({"notification_enabled_channels": "jmx"}, "cdckit_notification"),
    ],
)
def test_options_that_cannot_be(options: dict[str, str], message: str, mysql_server: SQLServer) -> None:
    with pytest.raises(ConfigError, match=message):
        config_for(mysql_server, **options)
