"""`docs/operating.md`, word for word: what it says to do is done, after what it is for."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kafka.reading import read_topic
from pages.page import DOCS, Page
from testkit.running import Ended
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer

TOPIC = "shop.shop.customers"
INCIDENTS = (
    "The log is purged", "The source fails over", "A schema change is refused", "The broker is away",
    "The disk is full", "The quarantine fills", "A poison message", "The state is lost", "Credentials are rotated",
    "Lag grows",
)  # fmt: skip


class Operator:
    """Follows the page from one command to the next.

    Attributes:
        page: the page.
        left: the commands that were not run yet.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.left = page.commands()

    def next(self, begins: str, code: int = 0) -> Ended:
        """Runs the page's next command, which should be of that kind."""
        command = self.left.pop(0)
        assert command.startswith(begins), command
        ended = self.page.run(command)
        assert ended.code == code, f"{command}\n{ended.stdout}\n{ended.stderr}"
        return ended


@pytest.fixture
def page(server: MySQLServer, kafka_broker: KafkaBroker, tmp_path: Path) -> Page:
    page = Page("operating.md", tmp_path, {"MYSQL_PORT": str(server.port), "KAFKA": kafka_broker.bootstrap})
    page.write_files()
    return page


@pytest.fixture
def operator(page: Page) -> Operator:
    return Operator(page)


def names(broker: KafkaBroker, after: int) -> list[tuple[str, str]]:
    """The operation and the name of each event behind so many."""
    values = [json.loads(one.value) for one in read_topic(broker.bootstrap, TOPIC)[after:] if one.value]
    return [(value["op"], (value["after"] or value["before"])["name"][:9]) for value in values]


def insert(server: MySQLServer, name: str) -> None:
    server.execute(f"INSERT INTO shop.customers (name) VALUES ('{name}')")


def test_the_page(server: MySQLServer, kafka_broker: KafkaBroker, operator: Operator) -> None:
    for begins in ("mkdir", "printf", "cdc validate", "cdc run"):
        operator.next(begins)
    assert names(kafka_broker, 0) == [("r", "Ada"), ("r", "Grace")]
    insert(server, "Edsger")
    operator.next("cdc run . --once --memory")
    assert "shop.yaml" in operator.next("cdc list").stdout
    assert json.loads(operator.next("cdc offsets show").stdout)["file"].startswith("binlog.")
    assert "stopped" in operator.next("cdc status").stdout
    operator.next("python -c")
    insert(server, "Barbara")
    _deliver(operator)
    for begins in ("mv", "mkdir", "cp", "cdc run"):
        operator.next(begins)
    assert names(kafka_broker, 2) == [("c", "Edsger"), ("c", "Barbara"), ("c", "Barbara")]
    _moves(server, kafka_broker, operator)
    _is_mended(server, kafka_broker, operator)
    assert operator.left == []


def _deliver(operator: Operator, code: int = 0) -> Ended:
    ended = operator.page.run("cdc run shop.yaml --once")
    assert ended.code == code, ended.stderr
    return ended


def _moves(server: MySQLServer, broker: KafkaBroker, operator: Operator) -> None:
    insert(server, "Alan")
    for begins in ("tar --create", "mkdir", "tar --extract", "cdc run elsewhere"):
        operator.next(begins)
    assert names(broker, 5) == [("c", "Alan")]


def _is_mended(server: MySQLServer, broker: KafkaBroker, operator: Operator) -> None:
    """The log purged, a record too large, the state lost, a password changed."""
    insert(server, "Donald")
    server.execute("FLUSH BINARY LOGS")
    server.execute("PURGE BINARY LOGS BEFORE NOW() + INTERVAL 1 DAY")
    _deliver(operator, 3)
    operator.next("cdc offsets reset")
    operator.next("cdc run")
    assert len([op for op, _ in names(broker, 6) if op == "r"]) == 6
    before = len(names(broker, 0))
    _quarantined(server, broker, operator)
    assert names(broker, before) == [("c", "Frances"), ("u", "Frances")]
    operator.next("rm")
    operator.next("cdc run")
    assert len(names(broker, before + 2)) == 7
    server.run_sql("ALTER USER 'cdc'@'%' IDENTIFIED BY 'a better password'")
    insert(server, "Grete")
    _deliver(operator, 3)
    operator.next("printf")
    operator.next("cdc run")
    assert names(broker, before + 9) == [("c", "Grete")]


def _quarantined(server: MySQLServer, broker: KafkaBroker, operator: Operator) -> None:
    """A record that the topic does not take at first."""
    server.execute("ALTER TABLE shop.customers ADD notes MEDIUMTEXT")
    server.execute("INSERT INTO shop.customers (name, notes) VALUES ('Frances', REPEAT('x', 1100000))")
    _deliver(operator)
    assert TOPIC in operator.next("cdc quarantine list").stdout
    assert json.loads(operator.next("cdc quarantine show").stdout)["stage"] == "write"
    broker.configure_topic(TOPIC, max_message_bytes=3_000_000)
    operator.next("cdc replay")
    server.execute("UPDATE shop.customers SET notes = '' WHERE name = 'Frances'")
    operator.next("cdc run")


def test_each_incident_has_a_runbook() -> None:
    text = (DOCS / "operating.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### (.+)$", text.partition("\n## Runbooks\n")[2], re.MULTILINE)
    assert set(INCIDENTS) <= set(headings)
