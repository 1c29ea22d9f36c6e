"""`cdc validate --connect`: what is wrong with a server or its user is found before a pipeline runs."""

from __future__ import annotations

from typing import Any

from cdckit.api.checks import Finding
from cdckit_mysql.config import MariaDbConfig, MySqlConfig
from cdckit_mysql.source import MySqlSource
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SQLServer


def findings(server: SQLServer, **options: Any) -> dict[str, Finding]:
    given = {
        "topic.prefix": "t",
        "database.hostname": "127.0.0.1",
        "database.port": str(server.port),
        "database.user": "dbz",
        "database.password": "dbz",
        "database.server.id": "5999",
    }
    given |= {name.replace("__", "."): value for name, value in options.items()}
    model = MariaDbConfig if isinstance(server, MariaDBServer) else MySqlConfig
    config, _ = model.load(given, "source")
    return {finding.name: finding for finding in MySqlSource.check(config)}


def statements(server: SQLServer) -> str:
    """The variable by which the log holds statements beside rows."""
    return "binlog_annotate_row_events" if isinstance(server, MariaDBServer) else "binlog_rows_query_log_events"


def test_a_fit_server_and_user_are_ok(db_server: SQLServer, database: str) -> None:
    db_server.execute(f"CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    found = findings(db_server, database__include__list=database, include__query="true")
    gtids = {} if isinstance(db_server, MariaDBServer) else {"gtid_mode": "ok"}
    encryption = {} if isinstance(db_server, MariaDBServer) else {"encryption": "ok"}
    assert {name: finding.status for name, finding in found.items()} == {
        "connection": "ok", **encryption, "log_bin": "ok", "binlog_format": "ok", "binlog_row_image": "ok",
        "binlog_row_metadata": "ok", **gtids,
        "REPLICATION SLAVE": "ok", "REPLICATION CLIENT": "ok", "RELOAD": "ok", "SELECT": "ok",
        "database.server.id": "ok", "log retention": "ok", "captured tables": "ok",
        statements(db_server): "ok",
    }  # fmt: skip
    assert found["captured tables"].message == f"1: {database}.t"
    assert not any(finding.remedy for finding in found.values())


def test_tables_that_keep_their_former_rows_are_found(mariadb_server: MariaDBServer, unique_name: str) -> None:
    """As any other table; views and sequences are none."""
    mariadb_server.run_sql(
        f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY) WITH SYSTEM VERSIONING;"
        "CREATE VIEW v AS SELECT * FROM t; CREATE SEQUENCE s;"
    )
    options = {"database__include__list": unique_name, "table__include__list": f"{unique_name}.t"}
    found = findings(mariadb_server, **options)
    mariadb_server.execute(f"DROP DATABASE {unique_name}")
    assert found["captured tables"].message == f"1: {unique_name}.t"
    assert "table.include.list" not in found


def test_missing_privileges_are_named_with_their_grant(db_server: SQLServer, database: str, unique_name: str) -> None:
    db_server.create_user(unique_name, "p", ["REPLICATION SLAVE"])
    found = findings(db_server, database__user=unique_name, database__password="p")
    assert found["REPLICATION SLAVE"].status == "ok"
    for privilege in ("REPLICATION CLIENT", "RELOAD"):
        assert found[privilege].status == "fail"
        assert found[privilege].remedy == f"GRANT {privilege} ON *.* TO '{unique_name}'@'%'"
    assert found["SELECT"].status == "fail"
    db_server.execute(f"GRANT SELECT ON {database}.* TO '{unique_name}'@'%'")
    found = findings(db_server, database__user=unique_name, database__password="p", snapshot__locking__mode="none")
    assert found["SELECT"].message == "granted on some databases: only their tables can be captured"
    assert "RELOAD" not in found


def test_table_locks_stand_in_for_the_global_one(db_server: SQLServer, unique_name: str) -> None:
    db_server.create_user(unique_name, "p", ("SELECT", "REPLICATION SLAVE", "REPLICATION CLIENT", "LOCK TABLES"))
    found = findings(db_server, database__user=unique_name, database__password="p")["RELOAD"]
    assert (found.status, found.message) == ("warn", "not granted on *.*: the captured tables are locked one by one")


def test_who_cannot_log_in_or_reach_the_server_is_one_finding(db_server: SQLServer) -> None:
    (refused,) = findings(db_server, database__password="wrong").values()
    assert (refused.name, refused.status) == ("connection", "fail")
    assert "check database.user and database.password" in refused.message
    (unreachable,) = findings(db_server, database__port="1").values()
    assert "cannot be reached" in unreachable.message


def test_settings_that_lose_something_are_told(db_server: SQLServer) -> None:
    text = statements(db_server)
    before = {
        name: db_server.execute(f"SELECT @@GLOBAL.{name}")[0][0]
        for name in ("binlog_row_image", "binlog_row_metadata", "binlog_format", "binlog_expire_logs_seconds", text)
    }
    db_server.execute("SET GLOBAL binlog_row_image = MINIMAL")
    db_server.execute("SET GLOBAL binlog_row_metadata = MINIMAL")
    db_server.execute("SET GLOBAL binlog_format = STATEMENT")
    db_server.execute("SET GLOBAL binlog_expire_logs_seconds = 7200")
    db_server.execute(f"SET GLOBAL {text} = OFF")
    try:
        found = findings(db_server, table__include__list="nothing.at_all", include__query="true")
    finally:
        for name, value in before.items():
            db_server.execute(f"SET GLOBAL {name} = %s", [value])
    assert {name for name, finding in found.items() if finding.status == "fail"} == {"binlog_format"}
    assert {name for name, finding in found.items() if finding.status == "warn"} == {
        "binlog_row_image", "binlog_row_metadata", "log retention", text, "captured tables", "table.include.list",
    }  # fmt: skip
    assert found["log retention"].message.startswith("the log is kept for 2.0 h (")
    assert all(finding.remedy for finding in found.values() if finding.status != "ok")


def test_a_server_without_gtids_is_told(mysql_server: SQLServer) -> None:
    mysql_server.execute("SET GLOBAL gtid_mode = ON_PERMISSIVE")
    try:
        found = findings(mysql_server)["gtid_mode"]
    finally:
        mysql_server.execute("SET GLOBAL gtid_mode = ON")
    assert (found.status, found.message) == ("warn", "ON_PERMISSIVE")


def test_an_old_server_is_asked_for_what_it_has(mysql56_server: SQLServer) -> None:
    """Its log has no row metadata, its retention is in days, and replicas have their former name."""
    mysql56_server.execute("SET GLOBAL expire_logs_days = 0")
    found = findings(mysql56_server, table__include__list="nothing.at_all")
    assert "binlog_row_metadata" not in found
    told = {name for name, finding in found.items() if finding.status != "ok"}
    assert told == {"captured tables", "table.include.list", "encryption"}
    assert found["log retention"].message.startswith("the log is never purged by age (")


def test_the_servers_own_id_cannot_be_the_pipelines(db_server: SQLServer) -> None:
    own = str(db_server.execute("SELECT @@GLOBAL.server_id")[0][0])
    found = findings(db_server, database__server__id=own)["database.server.id"]
    assert (found.status, found.message) == ("fail", f"{own} is the server's own")


def test_a_server_without_log_is_told() -> None:
    with MariaDBServer().start(log_bin=None) as server:
        server.create_user("dbz", "dbz")
        found = findings(server)
    assert found["log_bin"].status == "fail"
    assert "set log_bin" in found["log_bin"].remedy


def test_what_signals_need_is_looked_at(db_server: SQLServer, database: str, unique_name: str) -> None:
    db_server.create_user(unique_name, "p", CAPTURE_PRIVILEGES)
    options = {"database__user": unique_name, "database__password": "p"}
    options["signal__data__collection"] = f"{database}.signals"
    missing = findings(db_server, **options)["signal.data.collection"]
    assert (missing.status, missing.message) == ("fail", f"{database}.signals is not there, or not to be seen")
    db_server.execute(missing.remedy)
    unwritable = findings(db_server, **options, incremental__snapshot__watermarking__strategy="insert_delete")
    assert unwritable["signal.data.collection"].status == "warn"
    db_server.execute(unwritable["signal.data.collection"].remedy.partition(", or ")[0])
    assert findings(db_server, **options)["signal.data.collection"].status == "ok"
