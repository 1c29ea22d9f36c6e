"""Option names of Debezium's connectors: old ones, those without meaning here, those that are not built yet."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import ClassVar

from cdckit import NoMeaning, PluginConfig
from cdckit_mysql.options.ignored_options import WITHOUT_MEANING


def peer_options(file: str) -> dict[str, str]:
    """Debezium's options that a file of this package lists (name, default, allowed values), with their defaults."""
    text = resources.files("cdckit_mysql").joinpath(file).read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines())
    return {name: default for name, default, *_values in lines}


class DebeziumNames(PluginConfig):
    """What else may stand in a connector's configuration."""

    renamed: ClassVar[Mapping[str, str]] = {
        "database.server.name": "topic.prefix",
        "database.whitelist": "database.include.list",
        "database.blacklist": "database.exclude.list",
        "table.whitelist": "table.include.list",
        "table.blacklist": "table.exclude.list",
        "column.whitelist": "column.include.list",
        "column.blacklist": "column.exclude.list",
        "heartbeat.topics.prefix": "topic.heartbeat.prefix",
        "event.processing.failure.handling.mode": "event.deserialization.failure.handling.mode",
        "database.history.store.only.captured.databases.ddl": (
            "schema.history.internal.store.only.captured.databases.ddl"
        ),
        "database.history.store.only.captured.tables.ddl": ("schema.history.internal.store.only.captured.tables.ddl"),
        "database.history.store.only.monitored.tables.ddl": ("schema.history.internal.store.only.captured.tables.ddl"),
        "database.history.skip.unparseable.ddl": "schema.history.internal.skip.unparseable.ddl",
    }
    stand_ins: ClassVar[Mapping[str, str]] = {"errors.retry.delay.max.ms": "retriable.restart.connector.wait.ms"}
    without_meaning: ClassVar[tuple[NoMeaning, ...]] = WITHOUT_MEANING
    peer_options: ClassVar[Mapping[str, str]] = peer_options("debezium_options.tsv")
