"""`docs/downstream.md`: its snippets, as they stand, behind live pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest

from pages.page import Page
from servers.kafka import KafkaBroker
from servers.mysql import MySQLServer

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


def printed(page: Page, command: str) -> list[str]:
    """The lines that a command prints."""
    ended = page.run(command)
    assert ended.code == 0, ended.stderr
    return ended.stdout.splitlines()


def test_a_consumer_in_python_has_the_tables_rows(page: Page, server: MySQLServer, kafka_broker: KafkaBroker) -> None:
    run, consume = page.commands("Python: confluent_kafka")
    printed(page, run)
    server.run_sql(CHANGES)
    printed(page, run)
    _repeat(kafka_broker, "shop.shop.customers")
    assert printed(page, consume) == ["1 Ada ada@lovelace.example", "3 Edsger None", "9 Barbara b@example.com"]


def _repeat(broker: KafkaBroker, topic: str) -> None:
    """Sends what is in a topic once more, as a pipeline may that was killed."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for message in broker.messages(topic)[:4]:
        producer.produce(topic, key=message.key(), value=message.value(), headers=message.headers())
    producer.flush()


def test_polars_has_the_tables_rows(page: Page, server: MySQLServer, polars: Path) -> None:
    page = Page(page.name, page.folder, page.substitutes, (polars,))
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
