"""Topics, schemas and keys by `topic.naming.strategy` and the options beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdckit.connector.topics import Topics
from cdckit.errors import ConfigError
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.table import TableId
from mysql.conftest import NewCapture

SHARD = TableId("shop", "orders_01")
SHARDS = {"topic.regex": r"(.*)\.orders_(\d+)", "topic.replacement": "$1.orders"}


def topics(prefix: str = "p", **options: str) -> Topics:
    config, _ = MySqlConfig.load({"topic.prefix": prefix, "database.user": "u", **options}, "source")
    return Topics(config, prefix)


@pytest.mark.parametrize(
    ("strategy", "table", "topic"),
    [
        ("default", TableId("d", "naïve table"), "p.d.na_ve_table"),
        ("default", TableId("d", "t😀"), "p.d.t__"),
        ("default", TableId("d", "a" * 300), "p.d." + "a" * 245),
        ("io.debezium.schema.DefaultTopicNamingStrategy", SHARD, "p.shop.orders_01"),
        ("DefaultTopicNamingStrategy", SHARD, "p.shop.orders_01"),
        ("table", SHARD, "p.orders_01"),
        ("io.debezium.schema.SchemaTopicNamingStrategy", SHARD, "p.orders_01"),
        ("io.debezium.connector.vitess.TableTopicNamingStrategy", SHARD, "p.orders_01"),
        ("unified", SHARD, "p"),
        ("io.debezium.schema.DefaultUnicodeTopicNamingStrategy", TableId("d", "ä_b€"), "p.d._u00e4_u005fb_u20ac"),
        ("io.debezium.schema.SchemaUnicodeTopicNamingStrategy", TableId("d", "a_b"), "p.a_u005fb"),
    ],
)
def test_topics_by_strategy(strategy: str, table: TableId, topic: str) -> None:
    found = topics(**{"topic.naming.strategy": strategy})
    assert found.data(table) == topic
    assert found.schemas(table) == (topic if strategy != "unified" else "p.shop.orders_01")


@pytest.mark.parametrize(
    ("strategy", "topic", "mark"),
    [
        ("io.debezium.schema.DefaultRegexTopicNamingStrategy", "p.shop.orders", "p.shop.orders_01"),
        ("io.debezium.schema.SchemaRegexTopicNamingStrategy", "p.orders", "p.orders_01"),
    ],
)
def test_tables_that_share_a_topic_have_a_mark_in_their_keys(strategy: str, topic: str, mark: str) -> None:
    found = topics(**{"topic.naming.strategy": strategy, **SHARDS})
    assert (found.data(SHARD), found.schemas(SHARD)) == (topic, topic)
    assert found.key_mark(SHARD) == ("__dbz__physicalTableIdentifier", mark)
    assert found.data(TableId("shop", "customers")).endswith("customers")
    assert (
        topics(**{"topic.naming.strategy": strategy, **SHARDS, "topic.key.enforce.uniqueness": "false"}).key_mark(SHARD)
        is None
    )
    assert topics().key_mark(SHARD) is None


def test_the_mark_is_made_by_a_regex_of_its_own() -> None:
    own = {
        "topic.naming.strategy": "default_regex",
        **SHARDS,
        "topic.key.field.name": "shard",
        "topic.key.field.regex": r".*_(\d+)",
        "topic.key.field.replacement": "$1",
    }
    assert topics(**own).key_mark(SHARD) == ("shard", "01")
    assert topics(**own).key_mark(TableId("shop", "customers")) == ("shard", "p.shop.customers")


def test_the_other_topics() -> None:
    assert (topics().transaction, topics().heartbeat) == ("p.transaction", "__debezium-heartbeat.p")
    dashed = topics(**{"topic.delimiter": "-", "topic.transaction": "tx", "topic.heartbeat.prefix": "beat"})
    assert (dashed.data(SHARD), dashed.transaction, dashed.heartbeat) == ("p-shop-orders_01", "p-tx", "beat-p")
    assert topics(**{"topic.heartbeat.name": "shared"}).heartbeat == "shared"
    assert topics(**{"transaction.topic": "all.${database.server.name}.tx"}).transaction == "all.p.tx"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic.naming.strategy": "com.example.Mine"}, "topic.naming.strategy: should be"),
        ({"topic.naming.strategy": "default_regex"}, "topic.regex: required with topic.naming.strategy=default_regex"),
        ({"topic.regex": "a"}, "topic.replacement: required with topic.regex"),
        ({"topic.regex": "a", "topic.replacement": "$1"}, "the regex has no group 1"),
        ({"topic.delimiter": "&"}, "topic.delimiter: "),
        ({"transaction.topic": "a", "topic.transaction": "b"}, "keep one"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        topics(**options)
    assert said in str(caught.value)


def test_records_of_tables_that_share_a_topic(capture: NewCapture, sql: Callable[[str], None], database: str) -> None:
    sql(
        "CREATE TABLE t_1 (id INT PRIMARY KEY); CREATE TABLE t_2 (id INT); "
        "INSERT INTO t_1 VALUES (1); INSERT INTO t_2 VALUES (1)"
    )
    made = capture(
        **{
            "topic.naming.strategy": "io.debezium.schema.DefaultRegexTopicNamingStrategy",
            "topic.regex": r"(.*)\.t_\d",
            "topic.replacement": "$1.t",
        }
    )
    snapshot = [(record.topic, *key_and_names(record)) for record in made.once()]
    topic = f"p.{database}.t"
    names = (f"{topic}.Key", f"{topic}.Envelope", f"{topic}.Value")
    assert snapshot == [
        (topic, (1, f"{topic}_1"), *names),
        (topic, (f"{topic}_2",), *names),
    ]
    sql("UPDATE t_1 SET id = 2; DELETE FROM t_2")
    assert [record.key.values for record in made.once()] == [  # type: ignore[union-attr]
        (1, f"{topic}_1"),
        (1, f"{topic}_1"),
        (2, f"{topic}_1"),
        (f"{topic}_2",),
        (f"{topic}_2",),
    ]


def test_everything_in_one_topic(capture: NewCapture, sql: Callable[[str], None], database: str) -> None:
    sql("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY, v TEXT); INSERT INTO a VALUES (1)")
    made = capture(**{"topic.naming.strategy": "unified"})
    made.once()
    sql("INSERT INTO b VALUES (1, 'x'); INSERT INTO a VALUES (2)")
    found = [(record.topic, *key_and_names(record)[:2]) for record in made.once()]
    assert found == [
        ("p", (1, f"p.{database}.b"), f"p.{database}.b.Key"),
        ("p", (2, f"p.{database}.a"), f"p.{database}.a.Key"),
    ]


def key_and_names(record: Any) -> tuple[Any, ...]:
    """A key's values, and the names of the key's, the envelope's and the row's schemas."""
    return (
        record.key.values,
        record.key.schema.name,
        record.value.schema.name,
        record.value.schema.field("after").schema.name,
    )
