"""Debezium's JDBC stores in a connector's configuration."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit import ConfigError
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.state.place import StatePlace
from mysql.state.places import USER, make_user
from testkit.running import PASSWORD
from testkit.servers.mysql_family import SQLServer

CONNECTOR = {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "topic.prefix": "shop",
    "database.hostname": "captured",
    "database.user": "reader",
    "database.server.id": "7",
}
OFFSETS = "io.debezium.storage.jdbc.offset.JdbcOffsetBackingStore"
HISTORY = {
    "schema.history.internal": "io.debezium.storage.jdbc.history.JdbcSchemaHistory",
    "schema.history.internal.jdbc.url": "jdbc:mysql://db:3307/cdc",
    "schema.history.internal.jdbc.schema.history.table.name": "h",
}


def _load(folder: Path, *overrides: str, **jdbc: str) -> ResolvedPipeline:
    """The pipeline of a connector with JDBC stores; underscores stand for dots."""
    options = {f"offset.storage.jdbc.{name.replace('_', '.')}": value for name, value in jdbc.items()}
    given = {**CONNECTOR, "offset.storage": OFFSETS, **options, **HISTORY}
    (folder / "c.properties").write_text("\n".join(f"{name}={value}" for name, value in given.items()))
    return load_pipeline(folder / "c.properties", overrides)


def _place(pipeline: ResolvedPipeline) -> tuple[Any, ...]:
    config: Any = pipeline.store.config
    password = config.database_password.get_secret_value()
    return config.database_hostname, config.database_port, config.database_dbname, config.database_user, password


@pytest.mark.parametrize("before", ["", "connection_"])
def test_the_store_is_the_one_that_the_url_names(tmp_path: Path, before: str) -> None:
    jdbc = {
        f"{before}url": "jdbc:mysql://db:3307/cdc?useSSL=false",
        f"{before}user": "u",
        f"{before}password": PASSWORD,
    }
    pipeline = _load(tmp_path, **jdbc, table_name="o", connection_retry_max_attempts="5")
    assert pipeline.store.registration.name == "sql"
    assert _place(pipeline) == ("db", 3307, "cdc", "u", PASSWORD)
    said = "\n".join(pipeline.warnings)
    assert all(name in said for name in ("jdbc.table.name", "jdbc.connection.retry.max.attempts", *HISTORY))
    assert PASSWORD not in said + repr(pipeline)


def test_an_url_may_have_the_login_and_options_of_our_own_come_first(tmp_path: Path) -> None:
    url = f"jdbc:mariadb://[::1]/c%20d?user=u&password={PASSWORD}&sslMode=REQUIRED"
    pipeline = _load(tmp_path, "state.database.port=3308", "state.table.prefix=x_", connection_url=url)
    assert _place(pipeline) == ("::1", 3308, "c d", "u", PASSWORD)
    config: Any = pipeline.store.config
    assert (config.database_ssl_mode, config.table_prefix) == ("required", "x_")
    assert PASSWORD not in repr(pipeline)


@pytest.mark.parametrize(
    "url", ["jdbc:postgresql://db/cdc", "jdbc:mysql://a,b/cdc", "jdbc:mysql://db", "jdbc:mysql:loadbalance://a/cdc"]
)
def test_another_server_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"^offset\.storage: jdbc\.connection\.url should look like jdbc:mysql://"):
        _load(tmp_path, connection_url=f"{url}?password={PASSWORD}", user="u")


def test_what_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^offset\.storage\.database\.user: required"):
        _load(tmp_path, url="jdbc:mysql://db/cdc")


def test_the_state_is_there(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    make_user(db_server, database)
    url = f"jdbc:mysql://{db_server.host}:{db_server.port}/{database}"
    place = StatePlace.of(_load(tmp_path, url=url, user=USER, password=PASSWORD))
    with closing(place.open()) as store:
        store.put("a", 1)
    assert place.kept("a") == 1
    assert db_server.execute(f"SELECT pipeline FROM {database}.cdckit_pipelines") == ((b"shop",),)
