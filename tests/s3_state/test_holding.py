"""Who holds a state of the store `s3`, and what is told when the hold, the store or an object is not what it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from cdckit import HistoryEntry, StateHeldError, StateStore
from cdckit_s3.objects import PipelineObjects
from held_states import SAVES, Save, opened_once_let_go, state_error
from s3_state.places import SECRET, backend_of, client_of, make_bucket
from testkit.servers.object_store import ObjectStore
from testkit.servers.proxy import CuttingProxy

told = partial(state_error, secret=SECRET)
EVERY_SAVE: dict[str, Save] = {**SAVES, "large value": lambda store: store.put("a", "2" * 100_000)}
STATE = "cdckit/p/state.json"


@pytest.fixture
def bucket(object_store: ObjectStore, unique_name: str) -> str:
    return make_bucket(object_store, unique_name)


def _saved(store: ObjectStore, bucket: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(client_of(store).get_object(Bucket=bucket, Key=STATE)["Body"].read())
    return found


def _names(store: ObjectStore, bucket: str) -> list[str]:
    return [each["Key"] for each in client_of(store).list_objects_v2(Bucket=bucket)["Contents"]]


def _put(store: ObjectStore, bucket: str, name: str, body: bytes) -> None:
    client_of(store).put_object(Bucket=bucket, Key=name, Body=body)


def test_who_holds_it_is_told(object_store: ObjectStore, bucket: str) -> None:
    with closing(backend_of(object_store, bucket).open("p")), pytest.raises(StateHeldError) as refused:
        backend_of(object_store, bucket).open("p")
    assert f"held by process {os.getpid()} on " in str(refused.value)
    assert f"s3://{bucket}/cdckit/p/ at http://{object_store.endpoint}" in str(refused.value)


@pytest.mark.parametrize("save", EVERY_SAVE.values(), ids=EVERY_SAVE)
def test_whoever_was_followed_by_another_saves_nothing_more(
    object_store: ObjectStore, bucket: str, save: Callable[[StateStore], None]
) -> None:
    with closing(backend_of(object_store, bucket).open("p")) as store:
        store.save_offset({"n": 1})
        store.put("a", "1" * 100_000)
        store.append_history("h", [HistoryEntry("1", 1)])
        changes = store.changes
        holder = {"id": "x", "by": "process 7 on b", "since": "2026-01-01", "timeout.ms": 1000}
        _put(object_store, bucket, STATE, json.dumps({**_saved(object_store, bucket), "holder": holder}).encode())
        for _ in range(2):
            with told("was lost", "process 7 on b since 2026-01-01 UTC took it", "start the pipeline again"):
                save(store)
        with told("was lost"):
            store.load_offset()
        assert store.changes == changes
    with closing(backend_of(object_store, bucket).view("p")) as view:
        assert (view.load_offset(), view.get("a")) == ({"n": 1}, "1" * 100_000)
        assert [(size.name, size.entries) for size in view.history_sizes()] == [("h", 1)]


def test_a_save_whose_answer_was_lost_is_found(object_store: ObjectStore, bucket: str) -> None:
    with CuttingProxy(object_store.port) as line:
        endpoint = f"http://127.0.0.1:{line.port}"
        with closing(backend_of(object_store, bucket, s3_endpoint=endpoint).open("p")) as store:
            for number in range(3):
                line.cut_after(1)
                store.save_offset({"n": number})
                assert store.load_offset() == _saved(object_store, bucket)["offset"] == {"n": number}
            assert line.cuts == 3


def test_a_holder_without_a_sign_of_life_is_followed_and_finds_that_out(object_store: ObjectStore, bucket: str) -> None:
    """It is cut off: it hears no answer for a while."""
    with CuttingProxy(object_store.port) as line:
        options = {"s3_endpoint": f"http://127.0.0.1:{line.port}", "timeout_ms": 300, "hold_timeout_ms": 1000}
        with closing(backend_of(object_store, bucket, **options).open("p")) as store:
            store.save_offset({"n": 1})
            line.silence_after(1)
            with closing(opened_once_let_go(backend_of(object_store, bucket))) as other:
                assert other.load_offset() == {"n": 1}
                line.mend()
                with told("was lost", f"process {os.getpid()} on "):
                    store.save_offset({"n": 2})
                assert other.load_offset() == {"n": 1}


def test_a_store_without_conditional_writes_is_refused(
    object_store: ObjectStore, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = PipelineObjects.put

    def unconditional(objects: PipelineObjects, name: str, body: bytes, **_condition: str) -> str:
        return put(objects, name, body)

    monkeypatch.setattr(PipelineObjects, "put", unconditional)
    with told(bucket, "passes over the condition of a write (IfMatch)"):
        backend_of(object_store, bucket).open("p")


def test_what_is_not_needed_is_deleted(object_store: ObjectStore, bucket: str) -> None:
    with closing(backend_of(object_store, bucket).open("p")) as store:
        for number in range(40):
            store.append_history("h", [HistoryEntry(f"{number:03d}", number)])
            store.put("a", str(number) * 100_000)
        assert [found.entry for found in store.read_history("h")] == list(range(40))
        parts = [name for name in _names(object_store, bucket) if "/history-" in name]
        assert len(parts) < 7
    _put(object_store, bucket, "cdckit/p/history-left.json", b"{}")
    _put(object_store, bucket, "cdckit/pp/state.json", b"of another one")
    with closing(backend_of(object_store, bucket).open("p")) as store:
        assert [found.entry for found in store.read_history("h")] == list(range(40))
        assert len(_names(object_store, bucket)) == len(parts) + 3


def test_saves_of_several_threads_all_count(object_store: ObjectStore, bucket: str) -> None:
    with closing(backend_of(object_store, bucket).open("p")) as store, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.put(str(number), number), range(40)))
        assert [store.get(str(number)) for number in range(40)] == list(range(40))
        assert store.changes == 40


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"format": ', ("state.json is damaged",)),
        (b'{"format":1,"offset":[1]}', ("damaged", "no JSON object")),
        (b'{"format":1,"holder":{"id":"x"}}', ("damaged", "timeout.ms")),
        (b'{"format":2}', ("format 2", "reads format 1")),
    ],
)
def test_damage_is_told(object_store: ObjectStore, bucket: str, body: bytes, words: tuple[str, ...]) -> None:
    _put(object_store, bucket, STATE, body)
    with closing(backend_of(object_store, bucket).view("p")) as view, told(bucket, *words):
        view.load_offset()
    with told(bucket, *words):
        backend_of(object_store, bucket).open("p")


def test_an_object_that_is_gone_is_told(object_store: ObjectStore, bucket: str) -> None:
    with closing(backend_of(object_store, bucket).open("p")) as store:
        store.append_history("h", [HistoryEntry("1", 1)])
    [part] = [name for name in _names(object_store, bucket) if "/history-" in name]
    client_of(object_store).delete_object(Bucket=bucket, Key=part)
    with closing(backend_of(object_store, bucket).open("p")) as store, told(bucket, "state.json names, is not there"):
        store.read_history("h")
    with closing(backend_of(object_store, bucket).view("p")) as view, told(bucket, "is not there"):
        view.history_sizes()


def test_what_a_check_finds(object_store: ObjectStore, bucket: str) -> None:
    backend = backend_of(object_store, bucket)
    assert [found.status for found in backend.check(backend._config)] == ["ok"]
    backend = backend_of(object_store, "none-of-that-name")
    [found] = backend.check(backend._config)
    assert (found.status, "make the bucket 'none-of-that-name'" in found.message) == ("fail", True)
    with told("none-of-that-name", "state.s3.bucket.name"):
        backend.open("p")


def test_credentials_that_are_refused_are_told_and_not_shown(unique_name: str) -> None:
    with ObjectStore(checks_credentials=True) as store:
        backend = backend_of(store, "cdc")
        with told(store.endpoint, "state.s3.access.key.id"):
            backend.open("p")
        assert SECRET not in repr(backend._config)


def test_a_store_that_cannot_be_reached_is_told(object_store: ObjectStore, bucket: str) -> None:
    backend = backend_of(object_store, bucket, s3_endpoint="http://127.0.0.1:1", timeout_ms=500)
    with told("127.0.0.1:1", "state.s3.endpoint"):
        backend.open("p")
