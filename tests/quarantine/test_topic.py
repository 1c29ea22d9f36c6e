"""The quarantine in a topic of Kafka: as in a folder, shared by pipelines, and never without what it was given."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import replace

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.quarantine.places import records_kept
from cdckit.kafka import topic_settings
from kafka.reading import KafkaRecord, read_topic
from quarantine.conftest import UNWRAP, Shop
from testkit.running import PASSWORD
from testkit.servers.kafka import KafkaBroker

CONTEXT = "__connect.errors."


@pytest.fixture
def in_topic(shop: Shop, kafka_broker: KafkaBroker) -> Shop:
    """The pipeline, which keeps what its chain fails on in a topic."""
    options = {
        "quarantine.topic": f"dlq-{shop.database}",
        "quarantine.bootstrap.servers": kafka_broker.bootstrap,
        "quarantine.topic.replication.factor": 1,
    }
    return shop.given(**options)


def _messages(shop: Shop, broker: KafkaBroker) -> list[KafkaRecord]:
    return read_topic(broker.bootstrap, f"dlq-{shop.database}")


def test_it_is_listed_shown_replayed_and_dropped(in_topic: Shop, kafka_broker: KafkaBroker) -> None:
    shop = in_topic
    shop.insert(_1="10", _2="x", _3="y", _4="z")
    for _ in range(2):
        ended = shop.run()
        assert ended.code == 0, ended.stderr
        assert shop.delivered() == [(1, 10)]
        assert [(kept["number"], kept["stage"], kept["by"]) for kept in shop.kept()] == [
            (number, "transform", "number") for number in (1, 2, 3)
        ]
    assert not (shop.pipeline.state / "quarantine").exists()
    assert shop.content(2)["value"]["payload"]["after"] == {"id": 3, "amount": "y"}
    _, status, _ = shop.cdc("status")
    assert "3 records in quarantine (cdc quarantine list FILE)" in status
    assert shop.cdc("replay", "--id", "1")[0] == 6
    assert [kept["number"] for kept in shop.kept()] == [1, 2, 3]
    assert shop.cdc("quarantine", "drop", "3")[0] == 0
    assert shop.cdc("quarantine", "drop", "3")[0] == 2
    mended = shop.given(transforms=[UNWRAP])
    code, _, said = mended.cdc("replay")
    assert (code, "delivered 2 records, 0 stay" in said) == (0, True), said
    assert mended.delivered()[1:] == [(2, "x"), (3, "y")]
    assert mended.kept() == []
    shop.insert(_5="w")
    assert shop.run().code == 0
    assert [kept["number"] for kept in shop.kept()] == [4]
    messages = _messages(shop, kafka_broker)
    dropped = Counter(message.key for message in messages if message.value is None)
    assert sorted(dropped.values()) == [1, 1, 1]
    assert not any(name.startswith(CONTEXT) for message in messages for name, _ in message.headers)


def test_by_kafka_connects_options_and_with_its_headers(in_topic: Shop, kafka_broker: KafkaBroker) -> None:
    topic = f"dlq-{in_topic.database}"
    others = {name: value for name, value in in_topic.pipeline.others.items() if not name.startswith("quarantine.")}
    options = {
        **others,
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": topic,
        "errors.deadletterqueue.topic.replication.factor": 1,
        "errors.deadletterqueue.context.headers.enable": True,
        "errors.log.enable": True,
        "errors.log.include.messages": True,
    }
    sink = {
        "type": "kafka",
        "bootstrap.servers": kafka_broker.bootstrap,
        "kafka.ssl.key.password": PASSWORD,
        "topic.creation.default.replication.factor": 1,
    }
    shop = replace(in_topic, pipeline=replace(in_topic.pipeline, sink=sink, others=options))
    shop.insert(_1="10", _2="x")
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    assert '"after":{"id":2,"amount":"x"}' in ended.stderr
    (kept,) = shop.kept()
    (message,) = _messages(shop, kafka_broker)
    assert json.loads(message.value or b"")["value"]["payload"]["after"] == {"id": 2, "amount": "x"}
    headers = {name: (value or b"").decode() for name, value in message.headers}
    assert {name.removeprefix(CONTEXT): value for name, value in headers.items() if name.startswith(CONTEXT)} == {
        "topic": shop.topic,
        "connector.name": "p",
        "task.id": "0",
        "stage": "TRANSFORMATION",
        "class.name": "number",
        "exception.class.name": "cdckit.errors.TransformError",
        "exception.message": kept["reason"],
    }
    assert headers["__cdckit.quarantine.position"] == kept["position"]
    settings = topic_settings(kafka_broker.admin(), [topic], 30)[topic]
    assert settings["cleanup.policy"] == "compact"


def test_pipelines_share_a_topic(in_topic: Shop, kafka_broker: KafkaBroker) -> None:
    in_topic.insert(_1="x", _2="y")
    other = in_topic.given(name="other", state=str(in_topic.pipeline.folder / "other"))
    assert in_topic.run().code == 0
    assert other.run().code == 0
    assert other.cdc("quarantine", "drop", "1")[0] == 0
    assert [kept["number"] for kept in in_topic.kept()] == [1, 2]
    assert [kept["number"] for kept in other.kept()] == [2]
    assert len(_messages(in_topic, kafka_broker)) == 5


def test_later_changes_wait(in_topic: Shop) -> None:
    waits = in_topic.given(quarantine_later_changes="wait")
    waits.insert(_1="x", _2="2")
    assert waits.run().code == 0
    waits.run_sql("UPDATE orders SET amount = '1' WHERE id = 1")
    assert waits.run().code == 0
    assert [kept["stage"] for kept in waits.kept()] == ["transform", "wait"]
    assert waits.given(transforms=[UNWRAP]).cdc("replay")[0] == 0
    assert waits.delivered() == [(2, 2), (1, "x"), (1, "1")]


def test_brokers_that_are_away_stop_the_pipeline_before_anything_is_passed(in_topic: Shop) -> None:
    away = in_topic.given(
        **{
            "quarantine.bootstrap.servers": "127.0.0.1:9",
            "quarantine.timeout.ms": 1000,
            "quarantine.kafka.sasl.password": PASSWORD,
        }
    )
    away.insert(_1="x")
    ended = away.run()
    assert ended.code == 7
    assert f"quarantine, topic 'dlq-{away.database}' at 127.0.0.1:9: reading it failed" in ended.errors


def test_a_topic_that_is_too_small_stops_the_pipeline(in_topic: Shop, kafka_broker: KafkaBroker) -> None:
    kafka_broker.create_topic(f"dlq-{in_topic.database}", max_message_bytes=600)
    in_topic.insert(_1="x")
    ended = in_topic.run()
    assert ended.code == 7
    assert "raise the topic's max.message.bytes" in ended.errors
    assert "Kafka deletes old records there" in ended.stderr
    kafka_broker.configure_topic(f"dlq-{in_topic.database}", max_message_bytes=100_000)
    assert in_topic.run().code == 0
    assert len(in_topic.kept()) == 1


def test_killed_at_any_instant_every_row_is_delivered_or_kept(in_topic: Shop) -> None:
    shop = in_topic.given(offset_flush_interval_ms=20)
    assert shop.run().code == 0
    written = 1_200
    for start in range(0, written, 400):
        before = _size(shop)
        rows = ", ".join(f"({n}, '{'x' if n % 40 == 7 else n}')" for n in range(start, start + 400))
        shop.run_sql(*(f"INSERT INTO orders VALUES {part}" for part in _parts(rows)))
        with shop.pipeline.running() as process:
            process.wait_until(lambda before=before: _size(shop) != before)  # type: ignore[misc]
            time.sleep(random.uniform(0, 0.1))
            process.kill()
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    bad = {number for number in range(written) if number % 40 == 7}
    records = records_kept(load_pipeline(shop.pipeline.written()).errors)
    assert [json.loads(record.content)["key"]["payload"]["id"] for record in records] == sorted(bad)
    assert {number for number, _ in shop.delivered()} == set(range(written)) - bad
    mended = shop.given(transforms=[UNWRAP])
    assert mended.cdc("replay")[0] == 0
    assert {number for number, _ in mended.delivered()} == set(range(written))
    assert mended.kept() == []


def _size(shop: Shop) -> int:
    return shop.pipeline.output.stat().st_size if shop.pipeline.output.exists() else 0


def _parts(rows: str) -> list[str]:
    found = rows.split("), ")
    whole = [row if row.endswith(")") else f"{row})" for row in found]
    return [", ".join(whole[at : at + 40]) for at in range(0, len(whole), 40)]
