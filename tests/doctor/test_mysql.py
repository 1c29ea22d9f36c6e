"""Each finding about MySQL and MariaDB is provoked on the server and, once it is mended, gone."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners import forecaster
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit_file.file import FileSink
from cdckit_mysql.server import surprises
from doctor.conftest import NewPatient
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import Installation, SQLServer
from testkit.servers.server import Option

LONG = 604_800
MONTH = 2_592_000


def source(server: SQLServer, database: str, **options: Any) -> dict[str, Any]:
    kind = "mariadb" if isinstance(server, MariaDBServer) else "mysql"
    return {
        "type": kind,
        "topic.prefix": "t",
        "database.hostname": "127.0.0.1",
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": 5998,
        "database.include.list": database,
        **{name.replace("__", "."): value for name, value in options.items()},
    }


@contextmanager
def setting(server: SQLServer, **variables: Any) -> Iterator[None]:
    """The server has these global variables while the context lasts."""
    before = {name: server.execute(f"SELECT @@global.{name}")[0][0] for name in variables}
    for name, value in variables.items():
        server.execute(f"SET GLOBAL {name} = %s", (value,))
    try:
        yield
    finally:
        for name, value in before.items():
            server.execute(f"SET GLOBAL {name} = %s", (value,))


def filled(server: SQLServer, database: str, rows: int, size: int = 1000) -> None:
    """Writes so many rows, some hundred a transaction."""
    server.execute(f"CREATE TABLE IF NOT EXISTS {database}.t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)")
    for _ in range(rows // 500):
        values = ", ".join(["(REPEAT('x', %s))"] * 500)
        server.execute(f"INSERT INTO {database}.t (v) VALUES {values}", (size,) * 500)


def purge(server: SQLServer) -> None:
    """The server drops all of its log but a new file."""
    server.execute("FLUSH BINARY LOGS")
    newest, deadline = server.execute("SHOW BINARY LOGS")[-1][0], time.monotonic() + 60
    while server.execute("SHOW BINARY LOGS")[0][0] != newest:  # a file stays while a reader's thread is in it
        server.execute("PURGE BINARY LOGS TO %s", (newest,))
        assert time.monotonic() < deadline


def test_a_log_that_is_purged_soon_is_told_while_the_pipeline_stands(
    db_server: SQLServer, database: str, patient: NewPatient
) -> None:
    filled(db_server, database, 500)
    made = patient(source(db_server, database), **{"forecast.warning.ms": 7_200_000})
    assert made.run() == 0
    needed = made.status["forecast"]["oldest_needed"]
    filled(db_server, database, 500)
    with setting(db_server, binlog_expire_logs_seconds=3600):
        db_server.execute("FLUSH BINARY LOGS")
        code, _ = made.examined()
        found = made.findings()["CDC1101"]
        assert code == 0, "a warning is no error"
    assert found["severity"] == "warn"
    assert re.fullmatch(
        rf"{re.escape(needed)} is purged in (59 min \d\d s|1 h 00 min) \(binlog_expire_logs_seconds = 3600\); "
        r"(the pipeline needs \d+ s|how long the pipeline needs is not known yet)",
        found["message"],
    )
    assert found["remedy"].startswith("cdc run FILE; SET ")
    assert f"binlog_expire_logs_seconds = {LONG}" in found["remedy"]
    with setting(db_server, binlog_expire_logs_seconds=LONG):
        mended = made.told("log")
    assert mended["severity"] == "ok"
    assert mended["message"].startswith(f"{needed} is purged in 16")
    with setting(db_server, binlog_expire_logs_seconds=MONTH):
        assert f"(binlog_expire_logs_seconds = {MONTH})" in made.told("log")["message"]


@pytest.mark.nightly
@pytest.mark.one_server
def test_a_log_that_is_purged_before_it_is_read_is_an_error(
    db_server: SQLServer, database: str, patient: NewPatient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sink takes a batch in a tenth of a second; at that pace the backlog needs longer than the server waits."""
    monkeypatch.setattr(forecaster, "FIRST_SECONDS", 0.3)
    monkeypatch.setattr(forecaster, "SECONDS", 0.3)
    monkeypatch.setattr("cdckit.engine.metrics.forecast.AT_THE_END", 0.5)
    made = patient(
        source(db_server, database, max__batch__size=50, snapshot__mode="no_data"),
        **{"offset.flush.interval.ms": 0},
    )
    db_server.execute(f"CREATE TABLE {database}.t (id INT AUTO_INCREMENT PRIMARY KEY, v TEXT)")
    assert made.run() == 0
    filled(db_server, database, 2000)
    time.sleep(2)
    write = FileSink.write

    def slowly(sink: FileSink, messages: Any) -> None:
        time.sleep(0.1)
        write(sink, messages)

    with monkeypatch.context() as during:
        during.setattr(FileSink, "write", slowly)
        assert made.run() == 0
    pace = made.status["forecast"]
    assert pace["oldest_needed"].startswith(("binlog.", "mysql-bin.", "mariadb-bin."))
    assert 100_000 < pace["bytes_per_s"] < 2_000_000
    filled(db_server, database, 30_000)
    db_server.execute("FLUSH BINARY LOGS")
    time.sleep(3)
    with setting(db_server, binlog_expire_logs_seconds=8):
        code, _ = made.examined()
        found = made.findings()["CDC1101"]
    assert (code, found["severity"]) == (3, "fail")
    assert re.search(
        r"is purged in \d s \(binlog_expire_logs_seconds = 8\); the pipeline (needs|never)", found["message"]
    )
    with setting(db_server, binlog_expire_logs_seconds=LONG):
        assert made.told("log")["severity"] == "ok"


def test_a_log_that_is_too_large_is_told(
    mariadb_server: MariaDBServer, unique_name: str, patient: NewPatient, afterwards: ExitStack
) -> None:
    """MariaDB drops files once all of them take more than `max_binlog_total_size`."""
    if not mariadb_server.execute("SHOW GLOBAL VARIABLES LIKE 'max_binlog_total_size'"):
        pytest.skip("this MariaDB has no max_binlog_total_size")
    mariadb_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(mariadb_server.execute, f"DROP DATABASE {unique_name}")
    filled(mariadb_server, unique_name, 500)
    made = patient(source(mariadb_server, unique_name))
    assert made.run() == 0
    filled(mariadb_server, unique_name, 2000)
    total = sum(size for _, size in mariadb_server.execute("SHOW BINARY LOGS"))
    with setting(mariadb_server, max_binlog_total_size=total + 1_000_000):
        found = made.findings()["CDC1101"]
    assert f"max_binlog_total_size = {(total + 1_000_000) // 4096 * 4096}" in found["message"]
    assert "max_binlog_total_size" not in made.told("log")["message"]


def test_a_place_that_is_gone_is_an_error(db_server: SQLServer, database: str, patient: NewPatient) -> None:
    filled(db_server, database, 500)
    made = patient(source(db_server, database))
    assert made.run() == 0
    filled(db_server, database, 500)
    purge(db_server)
    code, _ = made.examined()
    found = made.findings()["CDC1101"]
    assert (code, found["severity"]) == (3, "fail")
    assert re.search(r"is purged in 0 s \((the server no longer has|.*purged)", found["message"]), found["message"]
    assert found["remedy"].endswith("cdc offsets reset FILE takes a new snapshot")


def test_a_file_that_is_read_to_its_end_may_go(
    mysql_server: MySQLServer, unique_name: str, patient: NewPatient, afterwards: ExitStack
) -> None:
    """With GTIDs a pipeline that follows the log finds the place without it."""
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    filled(mysql_server, unique_name, 500)
    made = patient(source(mysql_server, unique_name))
    assert made.run() == 0
    mysql_server.execute("FLUSH BINARY LOGS")
    next_file = mysql_server.execute("SHOW BINARY LOGS")[-1][0]
    assert made.told("log")["message"].startswith(f"{next_file} is purged in ")
    purge(mysql_server)
    assert made.told("log")["severity"] == "ok"
    records = made.status["records"]
    runner = DirectRunner(load_pipeline(Path(made.file)), stopping := StopSignal())
    thread = threading.Thread(target=runner.run)
    thread.start()
    filled(mysql_server, unique_name, 500)
    deadline = time.monotonic() + 60
    while runner.figures.records < 500 and time.monotonic() < deadline and thread.is_alive():
        time.sleep(0.1)
    stopping.stop()
    thread.join()
    assert records >= 500
    assert runner.figures.records >= 500, "what came since, and perhaps a statement"


def test_tables_without_keys_are_named_until_the_options_name_one(
    db_server: SQLServer, database: str, patient: NewPatient
) -> None:
    db_server.run_sql(
        f"USE {database}; CREATE TABLE keyed (a INT PRIMARY KEY); CREATE TABLE uniq (a INT NOT NULL UNIQUE);"
        "CREATE TABLE bare (a INT, b INT);"
    )
    found = patient(source(db_server, database)).findings()["CDC1219"]
    assert found["message"] == f"1 captured tables have none: {database}.bare"
    mended = patient(source(db_server, database, message__key__columns=f"{database}.bare:a"))
    assert "CDC1219" not in mended.findings()


def test_a_table_that_cannot_be_rendered_is_an_error(db_server: SQLServer, database: str, patient: NewPatient) -> None:
    db_server.run_sql(f"USE {database}; CREATE TABLE t (id INT PRIMARY KEY, `a-b` INT, a_b INT);")
    options = {"field.name.adjustment.mode": "avro"}
    made = patient({**source(db_server, database), **options})
    code, _ = made.examined()
    found = made.findings()["CDC1220"]
    assert (code, found["severity"]) == (3, "fail")
    assert f"{database}.t: two columns would be called 'a_b'" in found["message"]
    excluded = {**options, "column.exclude.list": rf"{database}\.t\.a_b"}
    assert "CDC1220" not in patient({**source(db_server, database), **excluded}).findings()


def test_clocks_that_differ_are_told(
    db_server: SQLServer, database: str, patient: NewPatient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock here is set, as no test may set the machine's; a session's stands still once it is set."""
    made = patient(source(db_server, database))
    assert "CDC1218" not in made.findings()
    here = time.time
    monkeypatch.setattr(surprises, "time", SimpleNamespace(time=lambda: here() - 100))
    found = made.findings()["CDC1218"]
    assert re.fullmatch(r"the server's clock is (99|100)\.\d s ahead of the one here", found["message"])


def test_documents_that_are_logged_in_part_are_told(
    mysql_server: MySQLServer, unique_name: str, patient: NewPatient
) -> None:
    made = patient(source(mysql_server, unique_name))
    with setting(mysql_server, binlog_row_value_options="PARTIAL_JSON", binlog_row_image="MINIMAL"):
        assert {"CDC1216", "CDC1204"} <= set(made.findings())
    assert not {"CDC1216", "CDC1204"} & set(made.findings())


def test_a_replica_that_stands_still_and_does_not_log_is_told(
    mariadb_server: MariaDBServer, unique_name: str, patient: NewPatient
) -> None:
    """MariaDB's default is a log without what was replicated; the user may ask for it with REPLICA MONITOR alone."""
    mariadb_server.execute("GRANT REPLICA MONITOR ON *.* TO 'dbz'@'%'")
    made = patient(source(mariadb_server, unique_name))
    assert not {"CDC1214", "CDC1221"} & set(made.findings())
    mariadb_server.execute("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='none'")
    try:
        code, _ = made.examined()
        found = made.findings()
    finally:
        mariadb_server.execute("RESET SLAVE ALL")
        mariadb_server.execute("REVOKE REPLICA MONITOR ON *.* FROM 'dbz'@'%'")
    assert code == 3
    assert found["CDC1214"]["message"] == "the server is a replica, and its log has no changes of its primary"
    assert found["CDC1221"]["message"].startswith("the server is a replica that stands still: ")
    assert not {"CDC1214", "CDC1221"} & set(made.findings())


@pytest.mark.unequal("what foreign keys change is not logged", tables=["child"], always=False)
def test_changes_by_foreign_keys_that_are_not_logged_are_told(
    db_server: SQLServer, database: str, patient: NewPatient, capsys: pytest.CaptureFixture[str]
) -> None:
    """MySQL logs them since 9.6, MariaDB does not; only tables whose own rows change are named."""
    db_server.run_sql(
        "CREATE TABLE parent (id INT PRIMARY KEY COMMENT 'CONSTRAINT `x` FOREIGN KEY ON DELETE CASCADE');"
        "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE);"
        "CREATE TABLE strict (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id));"
        "INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1, 1), (2, 2);",
        database=database,
    )
    made = patient(source(db_server, database))
    found = made.findings()
    assert made.run() == 0
    logged = capsys.readouterr().err
    db_server.execute(f"DELETE FROM {database}.parent WHERE id = 1")
    assert made.run() == 0
    lines = [json.loads(line) for line in (made.folder / "out.jsonl").read_text().splitlines()]
    deleted = [
        line["topic"].rpartition(".")[2] for line in lines if (line["value"] or {}).get("payload", {}).get("op") == "d"
    ]
    said = f"{database}.child: foreign keys with CASCADE or SET NULL change rows there"
    if isinstance(db_server, MariaDBServer):
        assert found["CDC1225"]["message"].startswith(said)
        assert said in logged
        assert deleted == ["parent"]
        excluded = source(db_server, database, table__exclude__list=rf"{database}\.child")
        assert "CDC1225" not in patient(excluded).findings()
    else:
        assert "CDC1225" not in found
        assert said not in logged
        assert sorted(deleted) == ["child", "parent"]


class Elsewhere(MySQLServer):
    """In another time zone, and with a database that is not logged."""

    defaults: ClassVar[Mapping[str, Option]] = {**MySQLServer.defaults, "binlog_ignore_db": "hidden"}

    def installation(self) -> Installation:
        """With the zone in its environment."""
        found = super().installation()
        return replace(found, env={**found.env, "TZ": "Asia/Kolkata"})


def test_a_log_that_leaves_out_a_database_and_an_unnamed_zone_are_told(patient: NewPatient) -> None:
    with Elsewhere() as server:
        server.create_user("dbz", "dbz")
        server.run_sql("CREATE DATABASE hidden; CREATE TABLE hidden.t (id INT PRIMARY KEY);")
        server.run_sql("CREATE DATABASE shown; CREATE TABLE shown.t (id INT PRIMARY KEY);")
        code, _ = patient(source(server, "hidden")).examined()
        found = patient(source(server, "hidden")).findings()
        assert code == 3
        assert found["CDC1215"]["message"] == "the log leaves out changes of hidden, which are captured"
        assert found["CDC1217"]["message"].startswith("SYSTEM, which is IST: the log does not name it")
        server.execute("SET GLOBAL time_zone = '+05:30'")
        assert not {"CDC1215", "CDC1217"} & set(patient(source(server, "shown")).findings())
