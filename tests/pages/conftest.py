"""A server as getting started begins with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pages.page import Page
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer


@pytest.fixture
def server() -> Iterator[MySQLServer]:
    """An empty server with the settings of getting started, then its user and table."""
    page = Page("getting-started.md", Path())
    [settings] = page.blocks("ini", "1. Prepare the server")
    options = dict(re.findall(r"^([\w-]+)\s*=\s*(\w+)", settings, re.MULTILINE))
    assert len(options) == 7
    with MySQLServer().start(**{name.replace("-", "_"): value for name, value in options.items()}) as started:
        [script] = page.blocks("sql", "1. Prepare the server")
        started.run_sql(script)
        yield started


@pytest.fixture
def kafka_broker(kafka_broker: KafkaBroker) -> Iterator[KafkaBroker]:
    """The broker. A page's topics have the names that the page gives them: they are deleted after its test."""
    before = kafka_broker.topics()
    yield kafka_broker
    if made := kafka_broker.topics() - before:
        kafka_broker.delete_topics(made)
