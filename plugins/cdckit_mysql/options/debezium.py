"""Option names of Debezium's connectors: old ones, those without meaning here, those that are not built yet."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from typing import ClassVar

from cdckit.config.model import PluginConfig


def known_options() -> dict[str, str | None]:
    """Every option of Debezium's two connectors, with its default."""
    text = resources.files("cdckit_mysql").joinpath("debezium_options.tsv").read_text(encoding="utf-8")
    pairs = (line.split("\t") for line in text.splitlines())
    return {name: default or None for name, default in pairs}


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
    passed_over: ClassVar[tuple[str, ...]] = (
        r"(name|tasks\.max|connector\.class|exactly\.once\.support|transaction\.boundary)",
        r"(driver|producer|consumer|database\.jdbc|debezium\.embedded|offset|openlineage)\..+",
        r"errors\.(tolerance|log\.enable|log\.include\.messages|retry\.timeout|retry\.delay\.max\.ms)",
        r"errors\.deadletterqueue\..+",
        r"(schema\.history\.internal|database\.history)(\.(kafka|producer|consumer|file|connector|name)(\..+)?)?",
        r"(connect\.keep\.alive|connection\.validation\.timeout\.ms|use\.nongraceful\.disconnect)",
        r"(ddl\.parser\.type|executor\.shutdown\.timeout\.ms|memory\.management\..+|statistics\.metrics\.enabled)",
        r"(database\.protocol|custom\.sanitize\.pattern|min\.row\.count\.to\.stream\.results|topic\.cache\.size)",
        r"(max\.queue\.size(\.in\.bytes)?|queue\.provider\.type|internal\..+)",
        # options that Connector/J reads from its URL
        r"database\.(allowPublicKeyRetrieval|useSSL|requireSSL|verifyServerCertificate|characterEncoding)",
        r"database\.(connectionTimeZone|serverTimezone|zeroDateTimeBehavior|autoReconnect|tinyInt1isBit)",
        r"database\.(useUnicode|useLegacyDatetimeCode|sessionVariables|netTimeoutForStreamingResults|socketTimeout)",
    )
    not_yet: ClassVar[Mapping[str, str | None]] = known_options()
