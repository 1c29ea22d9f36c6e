"""`docs/downstream.md`: its snippets, as they stand, behind live pipelines."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import JavaGateway

from pages.java import java_with
from pages.page import Page
from testkit.servers.downstream import cloud_events, flink_avro_jars, flink_jars, iceberg_jars, polars, quix_streams
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.servers.schema_registry import SchemaRegistry

WITH_SCHEMAS = ("--set", "name=with-schemas", "--set", "serializer.schemas.enable=true")
CHANGES = """
INSERT INTO shop.customers (name, email) VALUES ('Edsger', NULL), ('Barbara', 'b@example.com');
UPDATE shop.customers SET email = 'ada@lovelace.example' WHERE name = 'Ada';
DELETE FROM shop.customers WHERE name = 'Grace';
UPDATE shop.customers SET id = 9 WHERE name = 'Barbara';
"""


@pytest.fixture
def page(server: MySQLServer, kafka_broker: KafkaBroker, tmp_path: Path) -> Page:
    where = {"MYSQL_PORT": str(server.port), "KAFKA": kafka_broker.bootstrap}
    page = Page("downstream.md", tmp_path, where)
    page.write_files()
    return page


def printed(page: Page, command: str, *more: str) -> list[str]:
    """The lines that a command prints."""
    ended = page.run(command, *more)
    assert ended.code == 0, ended.stderr
    return ended.stdout.splitlines()


def test_a_consumer_in_python_has_the_tables_rows(page: Page, server: MySQLServer, kafka_broker: KafkaBroker) -> None:
    run, consume = page.commands("Python: confluent_kafka")
    printed(page, run)
    server.run_sql(CHANGES)
    printed(page, run)
    _repeat(kafka_broker, "shop.shop.customers", slice(0, 4))
    assert printed(page, consume) == ["1 Ada ada@lovelace.example", "3 Edsger None", "9 Barbara b@example.com"]


def _repeat(broker: KafkaBroker, topic: str, part: slice) -> None:
    """Sends part of what is in a topic once more; a pipeline that was killed does so up to its end."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for message in broker.messages(topic)[part]:
        producer.produce(topic, key=message.key(), value=message.value(), headers=message.headers())
    producer.flush()


@pytest.mark.nightly
def test_quix_streams_has_the_tables_rows(page: Page, server: MySQLServer, kafka_broker: KafkaBroker) -> None:
    run, _ = page.commands("Python: confluent_kafka")
    [consume] = page.commands("Python: Quix Streams")
    quix = Page(page.name, page.folder, page.substitutes, (quix_streams(),))
    printed(page, run)
    server.run_sql(CHANGES)
    printed(page, run)
    _repeat(kafka_broker, "shop.shop.customers", slice(0, 4))
    assert printed(quix, consume) == ["1 Ada ada@lovelace.example", "3 Edsger None", "9 Barbara b@example.com"]
    _repeat(kafka_broker, "shop.shop.customers", slice(0, 4))
    assert printed(quix, consume) == []


@pytest.mark.nightly
def test_the_library_of_cloud_events_reads_binary_ones(page: Page, server: MySQLServer) -> None:
    run, read = page.commands("Python: CloudEvents")
    printed(page, run)
    server.run_sql(CHANGES)
    printed(page, run)
    events = printed(Page(page.name, page.folder, page.substitutes, (cloud_events(),)), read)
    assert events == [
        f"/debezium/mysql/events {told}"
        for told in ("r Ada", "r Grace", "c Edsger", "c Barbara", "u Ada", "d None", "d None", "c Barbara")
    ]


def test_polars_has_the_tables_rows(page: Page, server: MySQLServer) -> None:
    page = Page(page.name, page.folder, page.substitutes, (polars(),))
    run, report = page.commands("Python: polars")
    cdc = Page(page.name, page.folder, page.substitutes)
    printed(cdc, run)
    server.run_sql(CHANGES)
    printed(cdc, run)
    lines = (page.folder / "events.jsonl").read_text()
    (page.folder / "events.jsonl").write_text(lines + "".join(lines.splitlines(keepends=True)[:4]))
    assert printed(page, report) == [
        "id,name,email",
        "1,Ada,ada@lovelace.example",
        "3,Edsger,",
        "9,Barbara,b@example.com",
    ]


@pytest.mark.parametrize(
    "more", [pytest.param((), id="plain", marks=pytest.mark.nightly), pytest.param(WITH_SCHEMAS, id="schemas")]
)
def test_icebergs_transform_reads_every_event(page: Page, server: MySQLServer, more: tuple[str, ...]) -> None:
    run, _ = page.commands("Python: polars")
    printed(page, run, *more)
    server.run_sql(CHANGES)
    printed(page, run, *more)
    lines = [json.loads(line) for line in (page.folder / "events.jsonl").read_text().splitlines()]
    with java_with(iceberg_jars()) as java:
        made = list(_transformed(java, page, lines, schemas=bool(more)))
    told = [None if row is None else (row["_cdc"]["op"], row["name"], row["email"]) for row in made]
    assert told == [
        ("I", "Ada", "ada@example.com"),
        ("I", "Grace", "grace@example.com"),
        ("I", "Edsger", None),
        ("I", "Barbara", "b@example.com"),
        ("U", "Ada", "ada@lovelace.example"),
        ("D", "Grace", "grace@example.com"),
        None,
        ("D", "Barbara", "b@example.com"),
        None,
        ("I", "Barbara", "b@example.com"),
    ]
    row = made[0]
    assert row is not None
    assert (row["_cdc"]["source"], row["_cdc"]["target"]) == ("shop.customers", "lake.customers")


def _transformed(java: JavaGateway, page: Page, lines: list[Any], *, schemas: bool) -> Any:
    """The values that the transform of the page makes of recorded messages; None for a tombstone."""
    [block] = page.blocks("properties", "Kafka Connect: Iceberg's transform")
    options = dict(line.split("=", 1) for line in block.splitlines())
    jvm: Any = java.jvm
    converter = jvm.org.apache.kafka.connect.json.JsonConverter()
    converter.configure(_java_map(jvm, {"schemas.enable": str(schemas).lower()}), False)
    plain = jvm.org.apache.kafka.connect.json.JsonConverter()
    plain.configure(_java_map(jvm, {"schemas.enable": "false"}), False)
    transform = jvm.org.apache.iceberg.connect.transforms.DebeziumTransform()
    assert options["transforms.debezium.type"] == transform.getClass().getName()
    own = "transforms.debezium."
    given = {name.removeprefix(own): value for name, value in options.items() if name.startswith(own)}
    transform.configure(_java_map(jvm, given))
    for number, line in enumerate(lines):
        parts = []
        for part in (line["key"], line["value"]):
            read = converter.toConnectData("t", None if part is None else json.dumps(part).encode())
            parts += [read.schema(), read.value()]
        record = jvm.org.apache.kafka.connect.sink.SinkRecord("t", 0, *parts, number)
        record = transform.apply(record)
        value = plain.fromConnectData("t", record.valueSchema(), record.value())
        yield None if value is None else json.loads(bytes(value))


def _java_map(jvm: Any, members: dict[str, str]) -> Any:
    made = jvm.java.util.HashMap()
    for name, value in members.items():
        made.put(name, value)
    return made


@pytest.mark.parametrize(
    "more", [pytest.param((), id="plain"), pytest.param(WITH_SCHEMAS, id="schemas", marks=pytest.mark.nightly)]
)
def test_flink_has_the_tables_rows(
    page: Page, server: MySQLServer, kafka_broker: KafkaBroker, more: tuple[str, ...]
) -> None:
    run, _ = page.commands("Python: confluent_kafka")
    own = ("--set", f"source.topic.prefix=flink{len(more)}")
    printed(page, run, *more, *own)
    server.run_sql(CHANGES)
    printed(page, run, *more, *own)
    topic = f"flink{len(more)}.shop.customers"
    _repeat(kafka_broker, topic, slice(1, None))
    [script] = page.blocks("sql", "Flink SQL")
    script = script.replace("localhost:9092", kafka_broker.bootstrap).replace("shop.shop.customers", topic)
    if more:
        script = script.replace("'debezium-json'", "'debezium-json', 'debezium-json.schema-include' = 'true'")
    with java_with(flink_jars()) as java:
        rows = _rows(java, script)
    assert rows == Counter(("1, Ada, ada@lovelace.example", "3, Edsger, null", "9, Barbara, b@example.com"))


@pytest.mark.nightly
def test_flink_reads_avro(
    page: Page, server: MySQLServer, kafka_broker: KafkaBroker, schema_registry: SchemaRegistry
) -> None:
    where = {**page.substitutes, "REGISTRY": schema_registry.url}
    page = Page(page.name, page.folder, where)
    [run] = page.commands("Flink SQL: Avro")
    printed(page, run)
    server.run_sql(CHANGES)
    server.run_sql(
        "ALTER TABLE shop.customers ADD COLUMN age INT AFTER id; UPDATE shop.customers SET age = 40 WHERE id = 3"
    )
    printed(page, run)
    _repeat(kafka_broker, "avro.shop.customers", slice(1, None))
    [script] = page.blocks("sql", "Flink SQL: Avro")
    script = script.replace("localhost:9092", kafka_broker.bootstrap)
    script = script.replace("http://localhost:8081", schema_registry.url)
    with java_with(flink_jars(), flink_avro_jars()) as java:
        rows = _rows(java, script)
    assert rows == Counter(("1, Ada, ada@lovelace.example", "3, Edsger, null", "9, Barbara, b@example.com"))


def _rows(java: JavaGateway, script: str) -> Counter[str]:
    """What the changes add up to that the last statement of a script gives."""
    api: Any = java.jvm.org.apache.flink.table.api
    tables = api.TableEnvironment.create(api.EnvironmentSettings.inStreamingMode())
    tables.getConfig().set("parallelism.default", "1")
    rows: Counter[str] = Counter()
    for statement in filter(None, (part.strip() for part in script.split(";\n"))):
        if statement.startswith("SET "):
            tables.getConfig().set(*(part.strip().strip("'") for part in statement[4:].split("=")))
            continue
        found = tables.executeSql(statement).collect()
        while statement.startswith("SELECT") and found.hasNext():
            row = found.next()
            rows[row.toString()[3:-1]] += 1 if row.getKind().shortString() in ("+I", "+U") else -1
    return +rows
