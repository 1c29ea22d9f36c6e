"""Who holds a state of the store `sql`, and what is told when the hold, the server or a table is not what it was."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from cdckit import HistoryEntry, StateHeldError, StateStore
from held_states import REMOVAL, SAVES, Save, state_error
from mysql.state.places import USER, backend_of, make_user
from testkit.running import PASSWORD
from testkit.servers.mysql_family import SQLServer
from testkit.servers.proxy import CuttingProxy

told = partial(state_error, secret=PASSWORD)
EVERY_SAVE: dict[str, Save] = {**SAVES, **REMOVAL}


@pytest.fixture(autouse=True)
def _user(db_server: SQLServer, database: str) -> None:
    make_user(db_server, database)


@pytest.fixture
def store(db_server: SQLServer, database: str) -> Iterator[StateStore]:
    with closing(backend_of(db_server, database).open("p")) as held:
        yield held


def _sessions(server: SQLServer) -> list[int]:
    query = f"SELECT id FROM information_schema.processlist WHERE user = '{USER}'"
    return [row[0] for row in server.execute(query)]


def _wait(holds: Callable[[], bool]) -> None:
    while not holds():
        # InnoDB makes its list of transactions anew only where nobody has read it for 0.1 s.
        time.sleep(0.15)


def _kill(server: SQLServer) -> None:
    for session in _sessions(server):
        server.end_session(session)


def test_who_holds_it_is_told(db_server: SQLServer, database: str, store: StateStore) -> None:
    with pytest.raises(StateHeldError) as refused:
        backend_of(db_server, database).open("p")
    assert f"held by process {os.getpid()} on " in str(refused.value)
    assert f"database '{database}'" in str(refused.value)


@pytest.mark.parametrize("save", EVERY_SAVE.values(), ids=EVERY_SAVE)
def test_a_connection_that_was_killed_saves_nothing_more(
    db_server: SQLServer, database: str, store: StateStore, save: Callable[[StateStore], None]
) -> None:
    store.save_offset({"n": 1})
    store.put("a", 1)
    store.append_history("h", [HistoryEntry("1", 1)])
    changes = store.changes
    _kill(db_server)
    with told(f"{db_server.host}:{db_server.port}", database, "the connection was lost", "start the pipeline again"):
        save(store)
    with told("the connection was lost"):
        save(store)
    assert store.changes == changes
    store.close()
    with closing(backend_of(db_server, database).open("p")) as other:
        assert (other.load_offset(), other.get("a")) == ({"n": 1}, 1)
        assert list(other.read_history("h")) == [("1", 1)]


@pytest.mark.parametrize("save", EVERY_SAVE.values(), ids=EVERY_SAVE)
def test_whoever_was_followed_by_another_saves_nothing_more(
    db_server: SQLServer, database: str, store: StateStore, save: Callable[[StateStore], None]
) -> None:
    """As on a server that took the place of the one which knew the lock."""
    db_server.execute(f"UPDATE {database}.cdckit_pipelines SET holder = 'x', held_by = 'process 7 on b'")
    with told("was lost", "process 7 on b holds it"):
        save(store)
    db_server.execute(f"DELETE FROM {database}.cdckit_pipelines")
    with told("was lost", "its row is gone"):
        save(store)


def test_a_lock_that_is_gone_is_noticed(db_server: SQLServer, database: str) -> None:
    """As behind a proxy that gives a client another session."""
    store: Any = backend_of(db_server, database).open("p")
    with closing(store):
        store._session.rows("test", "DO RELEASE_ALL_LOCKS()")
        with told("was lost", "the session's lock is gone", "proxy"):
            store.save_offset({"n": 1})


@pytest.mark.one_server
def test_a_process_that_gives_no_sign_of_life_is_let_go(db_server: SQLServer, database: str) -> None:
    """Its machine is gone: the server hears of no end."""
    with CuttingProxy(db_server.port) as line:
        options = {"database_port": line.port, "hold_timeout_ms": 3000, "connect_timeout_ms": 7000}
        with closing(backend_of(db_server, database, **options).open("p")) as store:
            store.save_offset({"n": 1})
            line.silence_after(1)
            _wait(lambda: not _sessions(db_server))
            with closing(backend_of(db_server, database).open("p")) as other:
                assert other.load_offset() == {"n": 1}
                with told("the connection was lost"):
                    store.save_offset({"n": 2})
                assert other.load_offset() == {"n": 1}


@pytest.mark.one_server
def test_an_idle_holder_outlives_the_servers_patience(db_server: SQLServer, database: str) -> None:
    with closing(backend_of(db_server, database, hold_timeout_ms=3000).open("p")) as store:
        time.sleep(5)
        store.save_offset({"n": 1})


def test_transactions_that_the_server_ends_are_run_again(
    db_server: SQLServer, database: str, store: StateStore
) -> None:
    """Each waits for a row that the other one has locked; the server ends the one that has changed less."""
    store.put("a", 1)
    with (
        closing(db_server.connect(database=database, autocommit=False)) as other,
        other.cursor() as cursor,
        ThreadPoolExecutor(1) as pool,
    ):
        cursor.executemany("INSERT INTO cdckit_kept VALUES ('z', %s, '1')", [(n,) for n in range(100)])
        cursor.execute("SELECT * FROM cdckit_kept WHERE pipeline = 'p' FOR UPDATE")
        saved = pool.submit(store.put, "a", 2)
        waiting = "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
        _wait(lambda: bool(db_server.execute(waiting)))
        cursor.execute("SELECT * FROM cdckit_pipelines WHERE pipeline = 'p' FOR UPDATE")
        other.rollback()
        saved.result()
    assert store.get("a") == 2


def test_a_row_that_another_session_holds_is_told(db_server: SQLServer, database: str) -> None:
    with closing(backend_of(db_server, database, connect_timeout_ms=4000).open("p")) as store:
        store.save_offset({"n": 1})
        with closing(db_server.connect(database=database, autocommit=False)) as other, other.cursor() as cursor:
            cursor.execute("SELECT * FROM cdckit_pipelines FOR UPDATE")
            with told("another session holds", "saving in cdckit_kept", "SHOW PROCESSLIST"):
                store.put("a", 1)
        store.put("a", 2)
        assert (store.load_offset(), store.get("a")) == ({"n": 1}, 2)


def test_tables_of_another_format_are_refused(db_server: SQLServer, database: str) -> None:
    backend_of(db_server, database).open("p").close()
    db_server.execute(f"UPDATE {database}.cdckit_format SET version = 2")
    for look in (backend_of(db_server, database).open, backend_of(db_server, database).view):
        with told("cdckit_format", "format 2", "reads format 1"):
            look("p")
    backend_of(db_server, database, table_prefix="other_").open("p").close()


def test_tables_that_were_half_made_are_completed(db_server: SQLServer, database: str) -> None:
    backend_of(db_server, database).open("p").close()
    db_server.run_sql(f"DELETE FROM {database}.cdckit_format; DROP TABLE {database}.cdckit_kept")
    with closing(backend_of(db_server, database).view("p")) as view:
        assert view.get("a") is None
    with closing(backend_of(db_server, database).open("p")) as store:
        store.put("a", 1)
        assert store.get("a") == 1


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        (
            "UPDATE cdckit_pipelines SET saved_offset = '{\"n\": '",
            ("cdckit_pipelines", "'p'", "is damaged", "restore it"),
        ),
        ("UPDATE cdckit_pipelines SET saved_offset = '[1]'", ("cdckit_pipelines", "no JSON object")),
        ("DROP TABLE cdckit_pipelines", ("cdckit_pipelines", "doesn't exist")),
    ],
)
def test_damage_is_told(
    db_server: SQLServer, database: str, store: StateStore, statement: str, words: tuple[str, ...]
) -> None:
    store.save_offset({"n": 1})
    db_server.execute(statement, database=database)
    with told(*words):
        store.load_offset()
    with closing(backend_of(db_server, database).view("p")) as view, told(*words):
        view.load_offset()


def test_what_the_server_cannot_take_is_told(db_server: SQLServer, database: str, store: StateStore) -> None:
    largest = db_server.execute("SELECT @@global.max_allowed_packet")[0][0]
    store.put("text", "x" * (largest - 2000))
    with told("max_allowed_packet", "'text' in table cdckit_kept"):
        store.put("text", '"' * (largest // 3))
    assert store.get("text") == "x" * (largest - 2000)
    with told("cdckit_kept", "too long"):
        store.put("k" * 2000, 1)
    store.put("k", 1)


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"database_password": "wrong"}, ("refuses user 'keeper'", "database.password")),
        ({"database_user": "nobody"}, ("refuses user 'nobody'",)),
        ({"database_port": 1}, ("127.0.0.1:1", "cannot be reached", "database.port")),
        ({"database_hostname": "no.such.host.invalid"}, ("no.such.host.invalid", "cannot be reached")),
    ],
)
def test_what_keeps_one_from_logging_in_is_told(
    db_server: SQLServer, database: str, others: dict[str, Any], words: tuple[str, ...]
) -> None:
    with told("state store", *words):
        backend_of(db_server, database, **others).open("p")
    with told("state store", *words):
        backend_of(db_server, database, **others).view("p")


def test_a_database_that_is_not_there_and_one_that_is_closed_are_told(db_server: SQLServer, database: str) -> None:
    db_server.run_sql(f"SET sql_log_bin = 0; GRANT SELECT ON *.* TO '{USER}'@'%'")
    with told("'not_there' is not there", "CREATE DATABASE not_there", "state.database.dbname"):
        backend_of(db_server, "not_there").open("p")
    db_server.run_sql(f"SET sql_log_bin = 0; REVOKE SELECT ON *.* FROM '{USER}'@'%'")
    with told("lacks a privilege", "GRANT CREATE, SELECT"):
        backend_of(db_server, "not_there").open("p")
    db_server.run_sql(f"SET sql_log_bin = 0; REVOKE CREATE ON {database}.* FROM '{USER}'@'%'")
    with told("lacks a privilege for making the tables", "GRANT CREATE"):
        backend_of(db_server, database).open("p")


def test_what_a_check_finds(db_server: SQLServer, database: str) -> None:
    backend = backend_of(db_server, database)
    config: Any = backend._config
    assert [(found.status, "at first use" in found.message) for found in backend.check(config)] == [("ok", True)]
    backend.open("p").close()
    assert [(found.status, "are there" in found.message) for found in backend.check(config)] == [("ok", True)]
    away: Any = backend_of(db_server, database, database_password="wrong")._config
    assert [found.status for found in backend.check(away)] == ["fail"]
    assert PASSWORD not in repr(config)
