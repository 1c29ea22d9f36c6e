"""What a server or a configuration makes impossible: a clear error, and nothing half done."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.errors import ConfigError, RetriableSourceError, SourceError
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.server.facts import log_files, read_server
from cdckit_mysql.streaming.log_beginnings import LogBeginnings
from mysql.capture import Capture, changes, config_for
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer
from testkit.servers.ports import free_port

Sql = Callable[[str], None]

OTHER_SERVERS = pytest.mark.parametrize("kind", [MySQLServer, MariaDBServer])


def _refused(capture: Capture) -> SourceError:
    with capture.closing(), pytest.raises(SourceError) as caught:
        capture.once()
    assert caught.value.exit_code == 3
    return caught.value


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"database_port": free_port()}, "check database.hostname and database.port"),
        ({"database_hostname": "no-such-host.invalid"}, "check database.hostname"),
        ({"database_password": "wrong"}, "check database.user and database.password"),
        ({"database_user": "nobody"}, "check database.user and database.password"),
    ],
)
def test_who_cannot_log_in_is_told(db_server: SQLServer, tmp_path: Path, options: dict[str, Any], words: str) -> None:
    error = str(_refused(Capture(config_for(db_server, **options), tmp_path)))
    assert words in error
    assert "wrong" not in error


@pytest.mark.parametrize(
    ("rights", "missing"),
    [
        (("SELECT", "RELOAD", "SHOW DATABASES", "REPLICATION SLAVE"), "REPLICATION CLIENT"),
        (("SELECT", "RELOAD", "SHOW DATABASES", "REPLICATION CLIENT"), "REPLICATION SLAVE"),
    ],
)
def test_a_missing_privilege_is_named_with_its_grant(
    db_server: SQLServer,
    database: str,
    sql: Sql,
    unique_name: str,
    tmp_path: Path,
    rights: tuple[str, ...],
    missing: str,
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);")
    user = f"u{unique_name[-10:]}"
    db_server.create_user(user, "secret", rights)
    options = {"database_user": user, "database_password": "secret", "database_include_list": database}
    reading = Capture(config_for(db_server, **options), tmp_path)
    with reading.closing(), pytest.raises(SourceError, match="GRANT") as caught:
        reading.once()
        sql("INSERT INTO t VALUES (2);")
        reading.once()
    assert missing in str(caught.value)


def test_tables_that_the_user_may_not_see_are_missed(
    db_server: SQLServer, database: str, sql: Sql, unique_name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    user = f"u{unique_name[-10:]}"
    db_server.create_user(user, "secret", ("RELOAD", "REPLICATION SLAVE", "REPLICATION CLIENT"))
    options = {"database_user": user, "database_password": "secret", "database_include_list": database}
    assert "GRANT SELECT" in str(_refused(Capture(config_for(db_server, **options), tmp_path / "none")))
    db_server.execute(f"GRANT SELECT ON elsewhere.* TO {user}")
    with Capture(config_for(db_server, **options), tmp_path).closing() as reading:
        assert reading.once() == []
    assert "GRANT SELECT" in caplog.text


@OTHER_SERVERS
def test_a_server_that_logs_no_rows_is_refused(kind: type[SQLServer], tmp_path: Path) -> None:
    with kind().start(binlog_format="STATEMENT") as server:
        server.create_user("dbz", "dbz")
        assert "binlog_format=ROW" in str(_refused(Capture(config_for(server), tmp_path / "statement")))
        server.restart(skip_log_bin=True, log_bin=None)
        assert "set log_bin" in str(_refused(Capture(config_for(server), tmp_path / "off")))


@OTHER_SERVERS
def test_a_purged_position_is_an_error_or_a_new_snapshot(
    kind: type[SQLServer], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with kind() as server:
        server.create_user("dbz", "dbz")
        server.run_sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1);")
        with Capture(config_for(server), tmp_path).closing() as reading:
            first = reading.once()
        server.run_sql("INSERT INTO d.t VALUES (2); FLUSH LOGS; INSERT INTO d.t VALUES (3); FLUSH LOGS;")
        server.purge_logs()
        error = str(_refused(Capture(config_for(server), tmp_path)))
        assert "snapshot.mode=when_needed" in error
        with Capture(config_for(server, snapshot_mode="when_needed"), tmp_path).closing() as reading:
            again = reading.once()
        assert changes(again) == [("r", "t", None, (number,)) for number in (1, 2, 3)]
        assert min(r.position for r in again) > max(r.position for r in first)
        assert "a new snapshot is taken" in caplog.text


@OTHER_SERVERS
def test_a_purged_file_of_which_all_was_read_is_no_loss(kind: type[SQLServer], tmp_path: Path) -> None:
    """GTIDs tell so, also where the log is read up to its end of now, from a file and position."""
    with kind() as server:
        server.create_user("dbz", "dbz")
        server.run_sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1);")
        for number in (2, 3):
            with Capture(config_for(server), tmp_path).closing() as reading:
                reading.once()
            server.run_sql("FLUSH BINARY LOGS")
            server.purge_logs()
            server.run_sql(f"INSERT INTO d.t VALUES ({number})")
            with Capture(config_for(server), tmp_path).closing() as reading:
                assert changes(reading.once()) == [("c", "t", None, (number,))]


@OTHER_SERVERS
def test_a_file_that_is_purged_between_two_questions_is_no_loss(kind: type[SQLServer], tmp_path: Path) -> None:
    """All of it was read; the pipeline asks which files there are, and then when each was begun."""
    with kind() as server, closing(SqliteStateStore(tmp_path)) as state:
        server.create_user("dbz", "dbz")
        beginnings = LogBeginnings(config_for(server), state)
        with closing(server.connect()) as connection:
            facts, before = read_server(connection), [*log_files(connection)]
            at = LogOffset(file=before[-1], pos=4, server=facts.identity)
            server.run_sql("FLUSH BINARY LOGS")
            server.purge_logs()
            answers = [before, [*log_files(connection)]]
            assert beginnings.why_other(facts, at, lambda: answers.pop(0)) is None
            assert not answers
            with pytest.raises(RetriableSourceError, match="lists log files that it does not find"):
                beginnings.why_other(facts, at, lambda: before)


@OTHER_SERVERS
def test_a_server_that_has_lost_its_log_is_told(kind: type[SQLServer], tmp_path: Path) -> None:
    with kind() as server:
        server.create_user("dbz", "dbz")
        server.run_sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY); INSERT INTO d.t VALUES (1);")
        with Capture(config_for(server), tmp_path).closing() as reading:
            reading.once()
        server.execute("RESET MASTER" if kind is MariaDBServer else "RESET BINARY LOGS AND GTIDS")
        assert "lost" in str(_refused(Capture(config_for(server), tmp_path)))


def test_another_server_without_gtids_is_refused(tmp_path: Path) -> None:
    options = {"gtid_mode": "OFF", "enforce_gtid_consistency": "OFF"}
    with MySQLServer().start(**options) as one, MySQLServer().start(**options) as other:
        for server in (one, other):
            server.create_user("dbz", "dbz")
        with Capture(config_for(one), tmp_path).closing() as reading:
            reading.once()
        assert "without GTIDs" in str(_refused(Capture(config_for(other), tmp_path)))


def test_a_replica_number_that_is_taken_is_an_error(streaming_pair: tuple[Capture, Capture]) -> None:
    first, second = streaming_pair
    with first.following() as batches, second.following() as others:
        next(batches)
        next(others)
        with pytest.raises(SourceError, match=r"database\.server\.id"):
            for _ in batches:
                next(others)


@pytest.fixture
def streaming_pair(capture: NewCapture, tmp_path: Path, mysql_server: SQLServer) -> Iterator[tuple[Capture, Capture]]:
    """Two captures of MySQL under one replica number; MariaDB ends the first one without a word."""
    pair = [
        Capture(config_for(mysql_server, snapshot_mode="no_data", database_server_id=7777), tmp_path / name)
        for name in ("one", "two")
    ]
    for each in pair:
        each.once()
    yield pair[0], pair[1]
    for each in pair:
        each.close()


def test_encryption_is_had_or_refused(db_server: SQLServer, tmp_path: Path, database: str) -> None:
    reading = Capture(
        config_for(db_server, database_ssl_mode="required", database_include_list=database), tmp_path / "required"
    )
    with reading.closing():
        if isinstance(db_server, MariaDBServer):
            with pytest.raises(SourceError, match=r"TLS|SSL"):
                reading.once()
        else:
            reading.once()
    checked = Capture(config_for(db_server, database_ssl_mode="verify_ca"), tmp_path / "verified")
    with checked.closing(), pytest.raises(SourceError):
        checked.once()


def test_a_key_store_that_is_no_pem_is_told_with_its_conversion(mysql_server: SQLServer, tmp_path: Path) -> None:
    store = tmp_path / "store.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed")
    config = config_for(mysql_server, database_ssl_mode="verify_ca", database_ssl_truststore=str(store))
    with Capture(config, tmp_path / "state").closing() as reading, pytest.raises(ConfigError, match="keytool"):
        reading.once()


def test_key_stores_of_java_are_read(mysql_server: SQLServer, tmp_path: Path) -> None:
    """The server demands the client's certificate; both stores are PKCS12, locked."""
    data = mysql_server.datadir
    key, own, authority = (data / name for name in ("client-key.pem", "client-cert.pem", "ca.pem"))
    trusted, identity = tmp_path / "trusted.p12", tmp_path / "identity.p12"
    pack = ["openssl", "pkcs12", "-export", "-passout", "pass:hush"]
    subprocess.run([*pack, "-nokeys", "-in", authority, "-out", trusted], check=True)
    subprocess.run([*pack, "-inkey", key, "-in", own, "-certfile", authority, "-out", identity], check=True)
    mysql_server.run_sql(
        "SET sql_log_bin = 0; CREATE USER 'certified'@'%' REQUIRE X509;"
        "GRANT SELECT, RELOAD, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO 'certified'@'%'"
    )
    options = {
        "database_user": "certified",
        "database_password": "",
        "database_ssl_mode": "verify_ca",
        "database_ssl_truststore": str(trusted),
        "database_ssl_truststore_password": "hush",
        "database_ssl_keystore": str(identity),
        "database_include_list": "none",
    }
    config = config_for(mysql_server, **options, database_ssl_keystore_password="hush")
    with Capture(config, tmp_path / "read").closing() as reading:
        assert reading.once() == []
    config = config_for(mysql_server, **options, database_ssl_keystore_password="wrong")
    with Capture(config, tmp_path / "locked").closing() as reading, pytest.raises(ConfigError) as caught:
        reading.once()
    assert str(caught.value).startswith("database.ssl.keystore: ")
    assert "database.ssl.keystore.password" in str(caught.value)
    assert "wrong" not in str(caught.value)


def test_the_servers_certificate_is_checked(mysql_server: SQLServer, tmp_path: Path) -> None:
    authority = str(mysql_server.datadir / "ca.pem")
    for mode, trusted in (("verify_ca", True), ("verify_identity", False)):
        config = config_for(mysql_server, database_ssl_mode=mode, database_ssl_truststore=authority)
        with Capture(config, tmp_path / mode).closing() as reading:
            if trusted:
                reading.once()
            else:
                with pytest.raises(SourceError, match="certificate"):
                    reading.once()
