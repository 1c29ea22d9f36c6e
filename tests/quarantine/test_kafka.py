"""Messages that Kafka, or its client, finds too large: kept as they were to be written, and replayed where they fit."""

from __future__ import annotations

import base64
import json
import threading
from dataclasses import replace
from typing import Any

import confluent_kafka.admin
import pytest

from kafka.reading import KafkaRecord, read_topic
from quarantine.conftest import UNWRAP, Shop
from testkit.servers.kafka import KafkaBroker

LONG = "x" * 1_500


@pytest.fixture
def to_kafka(shop: Shop, kafka_broker: KafkaBroker) -> Shop:
    """The pipeline to Kafka's topic, whose limit of 1,200 bytes the client knows nothing of."""
    shop = shop.given(transforms=[UNWRAP, {"type": "RegexRouter", "regex": ".*", "replacement": shop.database}])
    kafka_broker.create_topic(shop.database, max_message_bytes=1_200)
    return shop.to({"type": "kafka", "bootstrap.servers": kafka_broker.bootstrap, "kafka.batch.size": 1_200})


def _set_limit(broker: KafkaBroker, topic: str, limit: int) -> None:
    kinds: Any = confluent_kafka.admin
    entry = kinds.ConfigEntry("max.message.bytes", str(limit), incremental_operation=kinds.AlterConfigOpType.SET)
    resource = kinds.ConfigResource(kinds.ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = broker.admin()
    admin.incremental_alter_configs([resource])[resource].result(30)


def _amounts(records: list[KafkaRecord]) -> list[tuple[int, Any]]:
    rows = [json.loads(record.value or b"null") for record in records]
    return [(row["id"], row["amount"]) for row in rows]


@pytest.mark.parametrize("judge", ["broker", "client"])
def test_a_record_too_large_is_kept_and_the_rest_goes_on(to_kafka: Shop, kafka_broker: KafkaBroker, judge: str) -> None:
    limit = {"kafka.message.max.bytes": 1_200} if judge == "client" else {}
    shop = to_kafka.to({**to_kafka.pipeline.sink, **limit})
    shop.insert(_1="1", _2=LONG, _3="3")
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    assert _amounts(read_topic(kafka_broker.bootstrap, shop.database)) == [(1, "1"), (3, "3")]
    (kept,) = shop.kept()
    assert (kept["stage"], kept["by"], kept["topic"]) == ("write", "kafka", shop.database)
    assert "did not take the record" in kept["reason"]
    assert kept["position"]
    content = shop.content(kept["number"])
    assert json.loads(base64.b64decode(content["value"])) == {"id": 2, "amount": LONG}
    assert shop.cdc("replay")[0] == 6
    _set_limit(kafka_broker, shop.database, 5_000)
    assert to_kafka.cdc("replay")[0] == 0
    assert to_kafka.kept() == []
    records = read_topic(kafka_broker.bootstrap, shop.database)
    assert _amounts(records)[2:] == [(2, LONG)]
    assert records[2].key == b'{"id":2}'
    assert sorted(dict(records[2].headers)) == sorted(dict(records[0].headers))
    assert dict(records[2].headers)["__cdckit.position"] == kept["position"].encode()


def test_a_record_that_was_sent_with_others_is_not_taken_for_the_one_at_fault(
    to_kafka: Shop, kafka_broker: KafkaBroker
) -> None:
    shop = to_kafka.to({**to_kafka.pipeline.sink, "kafka.batch.size": 1_000_000, "kafka.linger.ms": 200})
    shop.insert(_1="1", _2=LONG, _3="3")
    ended = shop.run()
    assert ended.code == 4
    assert "lower sink.kafka.batch.size below it" in ended.stderr
    assert shop.kept() == []
    assert to_kafka.run().code == 0
    assert len(to_kafka.kept()) == 1
    assert _amounts(read_topic(kafka_broker.bootstrap, shop.database)) == [(1, "1"), (3, "3")]


def test_later_messages_of_the_key_wait(to_kafka: Shop, kafka_broker: KafkaBroker) -> None:
    waits = to_kafka.given(quarantine_later_changes="wait")
    waits.insert(_1="1", _2=LONG)
    assert waits.run().code == 0
    waits.run_sql("UPDATE orders SET amount = '2' WHERE id = 2", "UPDATE orders SET amount = '11' WHERE id = 1")
    assert waits.run().code == 0
    assert _amounts(read_topic(kafka_broker.bootstrap, waits.database)) == [(1, "1"), (1, "11")]
    assert [kept["stage"] for kept in waits.kept()] == ["write", "wait"]
    _set_limit(kafka_broker, waits.database, 5_000)
    assert waits.cdc("replay")[0] == 0
    assert _amounts(read_topic(kafka_broker.bootstrap, waits.database))[2:] == [(2, LONG), (2, "2")]


@pytest.mark.parametrize("judge", ["broker", "client"])
@pytest.mark.parametrize("tolerance", ["quarantine", "all"])
def test_a_transaction_has_all_but_the_record_at_fault(
    to_kafka: Shop, kafka_broker: KafkaBroker, judge: str, tolerance: str
) -> None:
    limit = {"kafka.message.max.bytes": 1_200} if judge == "client" else {}
    once = {
        "delivery.guarantee": "exactly-once",
        "topic.creation.default.replication.factor": 1,
        "transactional.id": to_kafka.database,
        "offset.topic": f"offsets-{to_kafka.database}",
    }
    shop = to_kafka.to({**to_kafka.pipeline.sink, **once, **limit}).given(errors_tolerance=tolerance)
    shop.insert(_1="1", _2=LONG, _3="3")
    for amount in ("5", "6"):
        ended = shop.run()
        assert ended.code == 0, ended.stderr
        shop.run_sql(f"UPDATE orders SET amount = '{amount}' WHERE id = 3")
    assert _amounts(read_topic(kafka_broker.bootstrap, shop.database)) == [(1, "1"), (3, "3"), (3, "5")]
    if tolerance == "quarantine":
        assert [(one["stage"], one["by"]) for one in shop.kept()] == [("write", "kafka")]


def test_a_row_without_a_key_of_a_snapshot_that_moves_is_not_tried_without_end(
    to_kafka: Shop, kafka_broker: KafkaBroker
) -> None:
    """Each attempt is a snapshot at another place of the log, so that the row is at no position again."""
    once = {
        "delivery.guarantee": "exactly-once",
        "topic.creation.default.replication.factor": 1,
        "transactional.id": to_kafka.database,
        "offset.topic": f"offsets-{to_kafka.database}",
    }
    shop = to_kafka.to({**to_kafka.pipeline.sink, **once})
    shop.run_sql(
        "DROP TABLE orders", "CREATE TABLE orders (id INT, amount VARCHAR(2000))", "CREATE TABLE other (n INT)"
    )
    shop.insert(_1="1", _2=LONG, _3="3")
    shop = replace(shop, pipeline=replace(shop.pipeline, source={**shop.pipeline.source, **_only_orders(shop)}))
    ended = threading.Event()

    def move() -> None:
        while not ended.wait(0.02):
            shop.run_sql("INSERT INTO other VALUES (1)")

    mover = threading.Thread(target=move)
    mover.start()
    try:
        code, _, errors = shop.cdc("run", "--once")
    finally:
        ended.set()
        mover.join()
    assert code == 0, errors
    assert _amounts(read_topic(kafka_broker.bootstrap, shop.database)) == [(1, "1"), (3, "3")]
    assert {kept["stage"] for kept in shop.kept()} == {"write"}
    assert 2 <= len(shop.kept()) <= 3


def _only_orders(shop: Shop) -> dict[str, str]:
    return {"table.include.list": f"{shop.database}.orders"}


def test_a_replay_waits_for_no_offset_and_so_refuses_transactions(to_kafka: Shop, kafka_broker: KafkaBroker) -> None:
    to_kafka.insert(_1=LONG)
    assert to_kafka.run().code == 0
    exactly = to_kafka.to({**to_kafka.pipeline.sink, "delivery.guarantee": "exactly-once"})
    code, _, errors = exactly.cdc("replay")
    assert (code, "have it deliver at least once here" in errors) == (2, True)
    assert len(to_kafka.kept()) == 1
    _set_limit(kafka_broker, to_kafka.database, 1_000_000)
    assert exactly.cdc("replay", "--set", "sink.delivery.guarantee=at-least-once")[0] == 0
    assert _amounts(read_topic(kafka_broker.bootstrap, to_kafka.database)) == [(1, LONG)]


def test_a_full_quarantine_stops_the_pipeline(to_kafka: Shop) -> None:
    shop = to_kafka.given(quarantine_max_records=1)
    shop.insert(_1=LONG, _2=LONG)
    ended = shop.run()
    assert ended.code == 4
    assert "the quarantine holds 1 records, and takes no more (quarantine.max.records)" in ended.stderr
