"""Who holds a state of the store `redis`, and what is told when the hold, the server or a key is not what it was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest

from cdckit import HistoryEntry, StateHeldError, StateStore
from held_states import REMOVAL, SAVES, Save, opened_once_let_go, state_error
from redis_state.places import backend_of
from testkit.running import PASSWORD
from testkit.servers.proxy import CuttingProxy
from testkit.servers.redis import RedisServer

told = partial(state_error, secret=PASSWORD)
EVERY_SAVE: dict[str, Save] = {**SAVES, **REMOVAL, "no entries": lambda store: store.append_history("h", [])}


RIGHTS = "+eval +get +set +del +pttl +hget +hset +hdel +hgetall +hvals +sadd +srem +smembers"
"""Those that docs/pipeline-file.md lists."""


@pytest.fixture
def store(redis_server: RedisServer, unique_name: str) -> Iterator[StateStore]:
    with closing(backend_of(redis_server, unique_name).open("p")) as held:
        yield held


def _own(by: str) -> str:
    return json.dumps({"holder": "x", "by": by, "since": "2026-01-01 00:00:00"})


def test_who_holds_it_is_told(redis_server: RedisServer, unique_name: str, store: StateStore) -> None:
    with pytest.raises(StateHeldError) as refused:
        backend_of(redis_server, unique_name).open("p")
    assert f"held by process {os.getpid()} on " in str(refused.value)
    assert redis_server.address in str(refused.value)


@pytest.mark.parametrize("save", EVERY_SAVE.values(), ids=EVERY_SAVE)
def test_whoever_was_followed_by_another_saves_nothing_more(
    redis_server: RedisServer, unique_name: str, store: StateStore, save: Callable[[StateStore], None]
) -> None:
    store.save_offset({"n": 1})
    store.put("a", 1)
    store.append_history("h", [HistoryEntry("1", 1)])
    changes = store.changes
    redis_server.execute("SET", f"{unique_name}:{{p}}:hold", _own("process 7 on b"))
    for _ in range(2):
        with told("was lost", "process 7 on b since 2026-01-01 00:00:00 UTC holds it", "start the pipeline again"):
            save(store)
    with told("was lost"):
        store.load_offset()
    assert store.changes == changes
    with closing(backend_of(redis_server, unique_name).view("p")) as view:
        assert (view.load_offset(), view.get("a")) == ({"n": 1}, 1)
        assert [(size.name, size.entries) for size in view.history_sizes()] == [("h", 1)]


def test_a_holder_without_a_sign_of_life_is_followed_and_finds_that_out(
    redis_server: RedisServer, unique_name: str
) -> None:
    """It is cut off: nothing of it arrives, and it hears nothing."""
    with CuttingProxy(redis_server.port) as line:
        options = {"redis_address": f"127.0.0.1:{line.port}", "redis_socket_timeout_ms": 200}
        with closing(backend_of(redis_server, unique_name, **options).open("p")) as store:
            store.save_offset({"n": 1})
            line.silence_after(1)
            with closing(opened_once_let_go(backend_of(redis_server, unique_name))) as other:
                assert other.load_offset() == {"n": 1}
                line.mend()
                with told("was lost", f"process {os.getpid()} on "):
                    store.save_offset({"n": 2})
                assert other.load_offset() == {"n": 1}


def test_an_idle_holder_outlives_its_time(redis_server: RedisServer, unique_name: str) -> None:
    with closing(backend_of(redis_server, unique_name, hold_timeout_ms=1000).open("p")) as store:
        time.sleep(2)
        assert redis_server.execute("GET", f"{unique_name}:{{p}}:alive")
        store.save_offset({"n": 1})


def test_a_connection_that_was_lost_is_made_anew(
    redis_server: RedisServer, unique_name: str, store: StateStore
) -> None:
    store.save_offset({"n": 1})
    redis_server.execute("CLIENT", "KILL", "TYPE", "normal")
    store.save_offset({"n": 2})
    redis_server.execute("CLIENT", "KILL", "TYPE", "normal")
    assert store.load_offset() == {"n": 2}
    assert store.changes == 2


def test_a_server_that_starts_again_has_what_was_saved(unique_name: str) -> None:
    with RedisServer() as server, closing(backend_of(server, unique_name).open("p")) as store:
        store.save_offset({"n": 1})
        server.kill()
        server.start()
        store.put("a", 1)
        assert (store.load_offset(), store.get("a")) == ({"n": 1}, 1)


def test_a_server_that_forgets_ends_the_pipeline(redis_server: RedisServer, unique_name: str) -> None:
    with closing(backend_of(redis_server, unique_name).open("p")) as store:
        for key in redis_server.execute("KEYS", f"{unique_name}:*"):
            redis_server.execute("DEL", key)
        with told("was lost", f"the key {unique_name}:{{p}}:hold is gone"):
            store.save_offset({"n": 1})


def test_a_server_that_is_away_for_good_is_told(unique_name: str) -> None:
    with RedisServer() as server:
        options = {"redis_retry_initial_delay_ms": 1, "redis_retry_max_attempts": 2}
        backend = backend_of(server, unique_name, **options)
        with closing(backend.open("p")) as store:
            server.kill()
            with told(server.address, "saving in", "check that it runs, state.redis.address"):
                store.save_offset({"n": 1})
            with told(server.address), closing(backend.view("p")) as view:
                view.load_offset()
        assert [found.status for found in backend.check(backend._config)] == ["fail"]


def test_saves_wait_for_a_replica(unique_name: str, caplog: pytest.LogCaptureFixture) -> None:
    once = {"redis_wait_enabled": True, "redis_wait_timeout_ms": 100, "redis_wait_retry_delay_ms": 1}
    more = {**once, "redis_wait_retry_enabled": True, "redis_retry_max_attempts": 2}
    with RedisServer() as server:
        with closing(backend_of(server, unique_name, **once).open("p")) as store:
            store.save_offset({"n": 1})
        assert "no replica has the save after 100 ms" in caplog.text
        with told("no replica had a save", "state.redis.wait.enabled"):
            backend_of(server, unique_name, **more).open("q")
        with RedisServer() as replica:
            replica.execute("REPLICAOF", server.host, server.port)
            while replica.execute("INFO", "replication")["master_link_status"] != "up":
                time.sleep(0.05)
            patient = {**more, "redis_wait_timeout_ms": 30_000}
            with closing(backend_of(server, unique_name, **patient).open("p")) as store:
                store.save_offset({"n": 2})
                offset = replica.execute("HGET", f"{unique_name}:{{p}}:state", "offset")
                assert json.loads(offset) == {"n": 2}
            with told(replica.address, "takes no saves"):
                backend_of(replica, unique_name, redis_retry_max_attempts=1).open("p")
            backend = backend_of(replica, unique_name)
            assert "fail" in [found.status for found in backend.check(backend._config)]


@pytest.mark.parametrize(
    ("key", "field", "value", "words"),
    [
        ("state", "offset", '{"n": ', ("'p' is", "damaged", '{"n":')),
        ("state", "offset", "[1]", ("damaged", "no JSON object")),
        ("state", "format", "2", ("format 2", "reads format 1")),
    ],
)
def test_damage_is_told(
    redis_server: RedisServer, unique_name: str, key: str, field: str, value: str, words: tuple[str, ...]
) -> None:
    backend_of(redis_server, unique_name).open("p").close()
    redis_server.execute("HSET", f"{unique_name}:{{p}}:{key}", field, value)
    with closing(backend_of(redis_server, unique_name).view("p")) as view, told(redis_server.address, *words):
        view.load_offset()
    with told(redis_server.address, *words), closing(backend_of(redis_server, unique_name).open("p")) as store:
        store.load_offset()


def test_a_key_of_somebody_else_is_told(redis_server: RedisServer, unique_name: str, store: StateStore) -> None:
    redis_server.execute("SET", f"{unique_name}:{{p}}:values", "x")
    with told(redis_server.address, f"saving in {unique_name}:{{p}}:values", "WRONGTYPE"):
        store.put("a", 1)


def test_what_a_check_finds(redis_server: RedisServer, unique_name: str) -> None:
    backend = backend_of(redis_server, unique_name)
    assert [(found.status, "at first use" in found.message) for found in backend.check(backend._config)] == [
        ("ok", True)
    ]
    with RedisServer().start(appendonly="no", maxmemory="100mb", maxmemory_policy="allkeys-lru") as forgetful:
        found = backend_of(forgetful, unique_name).check(backend_of(forgetful, unique_name)._config)
    assert [(each.status, each.remedy.split()[1:2]) for each in found[1:]] == [
        ("warn", ["appendonly"]),
        ("warn", ["maxmemory-policy"]),
    ]


def test_a_login_that_may_do_no_more_than_it_needs(unique_name: str) -> None:
    with RedisServer().start(requirepass="other") as server:
        login = {"redis_user": "keeper", "redis_password": PASSWORD, "redis_retry_max_attempts": 1}
        with told(server.address, "state.redis.password"):
            backend_of(server, unique_name).open("p")
        with closing(server.client("other")) as admin:
            admin.execute_command("ACL", "SETUSER", "keeper", "on", f">{PASSWORD}", f"~{unique_name}:*", "+ping")
            with told("keeper", "ACL SETUSER"):
                backend_of(server, unique_name, **login).open("p")
            admin.execute_command("ACL", "SETUSER", "keeper", *RIGHTS.split())
        backend = backend_of(server, unique_name, **login)
        with closing(backend.open("p")) as store:
            for save in EVERY_SAVE.values():
                save(store)
            assert (list(store.read_history("h")), store.get("a")) == ([], None)
        with closing(backend.view("p")) as view:
            assert (view.load_offset(), list(view.history_sizes())) == ({"n": 2}, [])
        assert [found.status for found in backend.check(backend._config)] == ["ok"]
        with told(server.address, "state.redis.password"):
            backend_of(server, unique_name, **{**login, "redis_password": "never shown"}).open("p")
        assert PASSWORD not in repr(backend._config)
