"""What the chain masks or leaves out is nowhere in the quarantine, nor in what is said of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafka.reading import read_topic
from quarantine.conftest import CAST, UNWRAP, Shop
from testkit.servers.kafka import KafkaBroker

SECRET = "tgX-planted-93"
MASK = {"type": "MaskField$Value", "name": "mask", "fields": "note"}
LEAVES_OUT = {"type": "ReplaceField$Value", "name": "mask", "exclude": "note"}


@pytest.fixture
def secretive(shop: Shop) -> Shop:
    """The table with a column `note`, which consumers are not to see."""
    shop.run_sql("ALTER TABLE orders ADD COLUMN note VARCHAR(100)")
    return shop


def _insert(shop: Shop, *rows: tuple[int, str]) -> None:
    values = ", ".join(f"({number}, '{amount}', '{SECRET}')" for number, amount in rows)
    shop.run_sql(f"INSERT INTO orders VALUES {values}")


def _run(shop: Shop) -> str:
    """Runs it with all that a log can show, and returns that."""
    ended = shop.given(errors_log_enable=True, errors_log_include_messages=True).run()
    assert ended.code == 0, ended.stderr
    return ended.stderr


def _require_nowhere(shop: Shop, said: str) -> None:
    files = [file.read_bytes() for file in (shop.pipeline.state / "quarantine").rglob("*") if file.is_file()]
    assert files
    for shown in (*files, said.encode(), json.dumps(shop.kept()).encode(), shop.pipeline.output.read_bytes()):
        assert SECRET.encode() not in shown


@pytest.mark.parametrize("mask", [MASK, LEAVES_OUT])
def test_what_fails_behind_the_masks_is_kept_masked_and_replayed(secretive: Shop, mask: dict[str, Any]) -> None:
    shop = secretive.given(transforms=[UNWRAP, mask, CAST])
    _insert(shop, (1, "10"), (2, "x"))
    _require_nowhere(shop, _run(shop))
    (kept,) = shop.kept()
    content = shop.content(kept["number"])
    assert (kept["by"], content["behind"], content["value"]["payload"]["amount"]) == ("number", "mask", "x")
    assert "'x'" in kept["reason"] or "amount" in kept["reason"]
    other = shop.given(transforms=[UNWRAP, {**mask, "name": "other"}])
    code, _, said = other.cdc("replay")
    assert (code, "the chain has no transform 'mask'" in said) == (6, True), said
    mended = shop.given(transforms=[UNWRAP, mask])
    assert mended.cdc("replay")[0] == 0
    assert mended.delivered() == [(1, 10), (2, "x")]
    assert SECRET.encode() not in shop.pipeline.output.read_bytes()


@pytest.mark.parametrize("column", ["note", "amount"])
def test_what_fails_before_the_masks_is_kept_without_its_values(secretive: Shop, column: str) -> None:
    """The words of the error may show the value, too: `amount` is what Cast fails on."""
    shop = secretive.given(transforms=[UNWRAP, CAST, {**MASK, "fields": column}])
    _insert(shop, (1, "10"), (2, SECRET))
    said = _run(shop)
    files = b"".join(file.read_bytes() for file in (shop.pipeline.state / "quarantine").iterdir())
    assert SECRET.encode() not in files + said.encode()
    (kept,) = shop.kept()
    assert kept["reason"].startswith(f"transform 'number' failed on a record of topic {shop.topic} at position ")
    assert "withheld" in kept["reason"]
    assert shop.content(kept["number"]) == {"form": "withheld", "topic": shop.topic, "behind": "mask"}
    code, _, said = shop.given(transforms=[UNWRAP]).cdc("replay")
    assert (code, "its key and value were withheld" in said) == (6, True)
    assert shop.cdc("quarantine", "drop", "--all")[0] == 0


def test_what_waits_is_kept_masked(secretive: Shop) -> None:
    mask_key = {"type": "ReplaceField$Key", "name": "key", "include": "id"}
    shop = secretive.given(transforms=[UNWRAP, MASK, mask_key, CAST], quarantine_later_changes="wait")
    assert shop.run().code == 0
    _insert(shop, (1, "x"), (2, "2"))
    shop.run_sql("UPDATE orders SET amount = '1' WHERE id = 1")
    said = _run(shop)
    shop.run_sql("UPDATE orders SET amount = '3' WHERE id IN (1, 2)")
    _require_nowhere(shop, said + _run(shop))
    assert [kept["stage"] for kept in shop.kept()] == ["transform", "wait", "wait"]
    mended = shop.given(transforms=[UNWRAP, MASK, mask_key])
    code, _, said = mended.cdc("replay")
    assert code == 0, said
    assert mended.delivered()[-1] == (1, "3")


def test_what_cannot_be_decoded_is_kept_without_its_bytes(secretive: Shop) -> None:
    shop = secretive.given(transforms=[UNWRAP, MASK])
    shop.run_sql("ALTER TABLE orders ADD COLUMN day DATE")
    assert shop.run().code == 0
    shop.run_sql(
        "SET sql_mode = 'ALLOW_INVALID_DATES'", f"INSERT INTO orders VALUES (1, 'a', '{SECRET}', '2021-02-31')"
    )
    assert shop.run().code == 0
    (kept,) = shop.kept()
    assert (kept["stage"], "withheld" in kept["reason"], "2021-02-31" in kept["reason"]) == ("decode", True, False)
    files = b"".join(file.read_bytes() for file in (shop.pipeline.state / "quarantine").iterdir())
    assert SECRET.encode() not in files


def test_a_topic_has_nothing_of_it_either(secretive: Shop, kafka_broker: KafkaBroker) -> None:
    topic = f"dlq-{secretive.database}"
    options: dict[str, Any] = {
        "quarantine.topic": topic,
        "quarantine.bootstrap.servers": kafka_broker.bootstrap,
        "quarantine.topic.context.headers": True,
    }
    shop = secretive.given(transforms=[UNWRAP, CAST, MASK], **options)
    _insert(shop, (1, SECRET), (2, "2"))
    assert SECRET not in _run(shop)
    (message,) = read_topic(kafka_broker.bootstrap, topic)
    assert SECRET not in repr(message)
