"""Who holds a state of the store `kafka`, and what is told when the hold, brokers or a topic are not what they were."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from cdckit import HistoryEntry, StateError, StateHeldError, StateStore
from held_states import SAVES, opened_once_let_go, state_error
from kafka.secured import PASSWORD, SecuredBroker
from kafka.state.places import backend_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.process import halt

OTHER = """
import sys
from cdckit_kafka.state.config import KafkaStateConfig
from cdckit_kafka.state.store import KafkaBackend
servers, topic = sys.argv[1:]
options = {"bootstrap.servers": servers, "topic": topic, "hold.timeout.ms": 6000}
store = KafkaBackend(KafkaStateConfig.load(options, "state")[0]).open("p")
store.save_offset({"n": 1})
print("held", flush=True)
sys.stdin.readline()
try:
    store.save_offset({"n": 9})
except Exception as error:
    print(type(error).__name__, error, flush=True)
store.close()
"""
"""Saves once, and again when it is told to."""

told = partial(state_error, secret=PASSWORD)


@pytest.fixture
def store(kafka_broker: KafkaBroker, unique_name: str) -> Iterator[StateStore]:
    with closing(backend_of(kafka_broker, unique_name).open("p")) as held:
        yield held


@contextmanager
def other_holder(broker: KafkaBroker, topic: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the state of `p`."""
    command = [sys.executable, "-c", OTHER, broker.bootstrap, topic]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_who_holds_it_is_told(kafka_broker: KafkaBroker, unique_name: str, store: StateStore) -> None:
    with pytest.raises(StateHeldError) as refused:
        backend_of(kafka_broker, unique_name).open("p")
    assert f"held by process {os.getpid()} on " in str(refused.value)
    assert f"topic '{unique_name}' at {kafka_broker.bootstrap}" in str(refused.value)


def test_a_process_that_was_paused_saves_nothing_behind_its_follower(
    kafka_broker: KafkaBroker, unique_name: str
) -> None:
    """It has not heard that Kafka gave its state to another one."""
    with other_holder(kafka_broker, unique_name) as process:
        halt(process.pid)
        with closing(opened_once_let_go(backend_of(kafka_broker, unique_name))) as store:
            assert store.load_offset() == {"n": 1}
            process.send_signal(signal.SIGCONT)
            said, _ = process.communicate("save\n")
            assert said.startswith("StateError ")
            assert f"was lost (process {os.getpid()} on " in said
            assert "start the pipeline again" in said
            store.save_offset({"n": 2})
        with closing(backend_of(kafka_broker, unique_name).open("p")) as store:
            assert store.load_offset() == {"n": 2}


@pytest.mark.parametrize("save", SAVES.values(), ids=SAVES)
def test_whoever_was_followed_by_another_saves_nothing_more(
    kafka_broker: KafkaBroker, unique_name: str, store: StateStore, save: Callable[[StateStore], None]
) -> None:
    store.save_offset({"n": 1})
    store.put("a", 1)
    store.append_history("h", [HistoryEntry("1", 1)])
    changes = store.changes
    servers = {"bootstrap.servers": kafka_broker.bootstrap}
    Producer({**servers, "transactional.id": f"cdckit-state.{unique_name}/p"}).init_transactions(30)
    with told("was lost", "another process took it"):
        save(store)
    with told("was lost"):
        save(store)
    with told("was lost"):
        store.load_offset()
    assert store.changes == changes
    with closing(backend_of(kafka_broker, unique_name).view("p")) as view:
        assert (view.load_offset(), view.get("a")) == ({"n": 1}, 1)
        assert [(size.name, size.entries) for size in view.history_sizes()] == [("h", 1)]


def test_a_save_that_was_not_committed_counts_for_nothing(kafka_broker: KafkaBroker, unique_name: str) -> None:
    """Its process was killed in the middle: the next one ends its transaction, and needs not wait for its timeout."""
    with closing(backend_of(kafka_broker, unique_name).open("p")) as store:
        store.save_offset({"n": 1})
    servers = {"bootstrap.servers": kafka_broker.bootstrap, "transaction.timeout.ms": 600_000}
    producer = Producer({**servers, "transactional.id": f"cdckit-state.{unique_name}/p"})
    producer.init_transactions(30)
    producer.begin_transaction()
    [key] = [m.key() for m in kafka_broker.messages(unique_name) if b'"offset"' in (m.key() or b"")]
    producer.produce(unique_name, b'{"n":7}', key)
    producer.flush(30)
    with closing(backend_of(kafka_broker, unique_name).open("p")) as store:
        assert store.load_offset() == {"n": 1}


def test_a_view_waits_for_what_is_behind_anothers_open_transaction(kafka_broker: KafkaBroker, unique_name: str) -> None:
    """Another pipeline's process was killed in the middle of a save."""
    with closing(backend_of(kafka_broker, unique_name).open("p")) as store:
        producer = Producer(
            {"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": "x", "transaction.timeout.ms": 1000}
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce(unique_name, b"1", b'["cdckit",{"pipeline":"q","value":"a"}]')
        producer.flush(30)
        store.save_offset({"n": 1})
        with closing(backend_of(kafka_broker, unique_name).view("p")) as view:
            assert view.load_offset() == {"n": 1}


def test_what_others_write_to_the_topic_is_passed_over(kafka_broker: KafkaBroker, unique_name: str) -> None:
    """Such as a worker of Kafka Connect, whose topic has more partitions."""
    kafka_broker.create_topic(unique_name, partitions=3, cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    for key in (b'["inventory",{"server":"g"}]', b'["cdckit",{"pipeline":"pq","value":"a"}]', b"\xff"):
        producer.produce(unique_name, b'{"pos":4}', key, 0)
    assert producer.flush(30) == 0
    for _ in range(2):
        with closing(backend_of(kafka_broker, unique_name).open("p")) as store:
            assert (store.get("a"), store.get("b")) == (None, None)
            store.put("a", 1)
            store.put("a", None)
    keys = [json.loads(message.key() or b"") for message in kafka_broker.messages(unique_name)[3:]]
    assert [key[0] for key in keys] == ["cdckit"] * len(keys)


def test_a_topic_that_loses_what_is_old_is_refused(kafka_broker: KafkaBroker, unique_name: str) -> None:
    kafka_broker.create_topic(unique_name, cleanup_policy="compact")
    kafka_broker.create_topic(f"{unique_name}-history", cleanup_policy="delete")
    with told(f"'{unique_name}-history'", "cleanup.policy=delete", "compact"):
        backend_of(kafka_broker, unique_name).open("p")
    kafka_broker.create_topic(f"{unique_name}-forever", cleanup_policy="delete", retention_ms=-1, retention_bytes=-1)
    backend_of(kafka_broker, unique_name, history_topic=f"{unique_name}-forever").open("p").close()


def test_topics_are_made_compacted(kafka_broker: KafkaBroker, unique_name: str, store: StateStore) -> None:
    admin = kafka_broker.admin()
    for topic in (unique_name, f"{unique_name}-history"):
        assert len(admin.list_topics(topic).topics[topic].partitions) == 1
        [asked] = admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        assert asked.result()["cleanup.policy"].value == "compact"


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ({"state": "offset"}, b'{"n": ', ("'p' is damaged", '{"n":')),
        ({"state": "offset"}, b"[1]", ("is damaged", "no JSON object")),
        ({"state": "format"}, b"2", ("format 2", "reads format 1")),
        ({"history": "h"}, b"1", ("is damaged", "position")),
    ],
)
def test_damage_is_told(
    kafka_broker: KafkaBroker, unique_name: str, part: dict[str, str], value: bytes, words: tuple[str, ...]
) -> None:
    backend_of(kafka_broker, unique_name).open("p").close()
    producer = Producer({"bootstrap.servers": kafka_broker.bootstrap})
    key = json.dumps(["cdckit", {"pipeline": "p", **part}], separators=(",", ":"))
    producer.produce(unique_name, value, key)
    assert producer.flush(30) == 0
    with closing(backend_of(kafka_broker, unique_name).view("p")) as view, told(unique_name, *words):
        view.load_offset()
    with told(unique_name, *words), closing(backend_of(kafka_broker, unique_name).open("p")) as store:
        store.load_offset()


def test_a_value_that_is_too_large_is_told_and_nothing_more_is_saved(
    kafka_broker: KafkaBroker, unique_name: str, store: StateStore
) -> None:
    entry = ConfigEntry("max.message.bytes", "1000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, unique_name, incremental_configs=[entry])
    admin = kafka_broker.admin()
    [altered] = admin.incremental_alter_configs([resource]).values()
    altered.result()
    store.put("a", 1)
    with told(unique_name, "max.message.bytes"):
        store.put("a", [str(number) for number in range(100_000)])
    with told("max.message.bytes"):
        store.put("a", 2)
    store.close()
    with closing(backend_of(kafka_broker, unique_name).open("p")) as other:
        assert other.get("a") == 1
        other.put("a", 2)


def test_brokers_that_cannot_be_reached_are_told(kafka_broker: KafkaBroker, unique_name: str) -> None:
    backend = backend_of(kafka_broker, unique_name, bootstrap_servers="127.0.0.1:1", timeout_ms=1000)
    with told("state store", "127.0.0.1:1", "state.kafka.security.protocol"):
        backend.open("p")
    with told("state store", "127.0.0.1:1"), closing(backend.view("p")) as view:
        view.load_offset()
    config: Any = backend._config
    assert [found.status for found in backend.check(config)] == ["fail"]


def test_what_a_check_finds(kafka_broker: KafkaBroker, unique_name: str) -> None:
    backend = backend_of(kafka_broker, unique_name)
    config: Any = backend._config
    assert [(found.status, "at first use" in found.message) for found in backend.check(config)] == [("ok", True)]
    backend.open("p").close()
    assert [(found.status, "are there" in found.message) for found in backend.check(config)] == [("ok", True)]


def test_it_is_used_by_a_login_that_may_do_no_more_than_it_needs(secured: SecuredBroker, unique_name: str) -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"

    def login(password: str) -> dict[str, Any]:
        return {
            "bootstrap_servers": secured.sasl,
            "timeout_ms": 5000,
            "kafka_security_protocol": "SASL_PLAINTEXT",
            "kafka_sasl_mechanism": "PLAIN",
            "kafka_sasl_jaas_config": f'{module} required username="writer" password="{password}";',
        }

    backend = backend_of(secured.broker, unique_name, **login(PASSWORD))
    for topic in (unique_name, f"{unique_name}-history"):
        secured.allow("writer", topic, "read", "write", "create", "describe", "describe_configs")
    with told("refuse", "state.kafka"):
        backend.open("p")
    for kind, operations in (("group", ["read"]), ("transactional_id", ["write", "describe"])):
        secured.allow("writer", f"cdckit-state.{unique_name}/p", *operations, kind=kind)
    for _ in range(2):
        with closing(_once_known(backend)) as store:
            store.put("a", 1)
    with closing(backend.view("p")) as view:
        assert view.get("a") == 1
    with told("state store", "refuse", "state.kafka"):
        backend_of(secured.broker, unique_name, **login("never shown")).open("p")
    assert PASSWORD not in repr(backend._config)


def _once_known(backend: Any) -> StateStore:
    """The broker knows of new rights by and by, and its first group may take it longer than an answer is waited for."""
    deadline = time.monotonic() + 60
    while True:
        try:
            opened: StateStore = backend.open("p")
        except StateError:
            if time.monotonic() > deadline:
                raise
        else:
            return opened
