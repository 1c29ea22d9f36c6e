"""`cdc offsets export` of MariaDB's: a live Debezium goes on exactly where the pipeline stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from differential.handover import (
    BEFORE,
    BEHIND,
    ROWS,
    TABLES,
    Handover,
    assert_equal_behind,
    assert_transaction_told_again,
    change_and_stand_within,
    run_debezium,
)
from testkit.servers.cache import cached
from testkit.servers.java import fetch_jars
from testkit.servers.mariadb import MariaDBServer

pytestmark = pytest.mark.nightly

JARS = ("io.debezium:debezium-embedded:3.5.0.Final", "io.debezium:debezium-connector-mariadb:3.5.0.Final")
"""The wheel with Debezium's connectors has all but this one, and Maven Central no newer one."""


def _options(server: MariaDBServer, folder: Path, database: str, number: int) -> dict[str, Any]:
    return {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": "dbz",
        "database.password": "dbz",
        "database.ssl.mode": "disable",
        "database.server.id": 730_000 + number,
        "database.include.list": database,
        "include.schema.changes": "false",
        "snapshot.mode": "recovery",
        "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
        "schema.history.internal.file.filename": folder / f"{number}.history",
    }


@pytest.fixture(scope="module")
def captured(mariadb_server: MariaDBServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder with the events behind the places of the handovers: of the pipelines, and of the live Debezium."""
    jars = cached("debezium-mariadb-3.5.0", lambda folder: fetch_jars(JARS, folder))
    folder, databases = tmp_path_factory.mktemp("way-back"), ["way_back_0", "way_back_1"]
    for database in databases:
        mariadb_server.run_sql(f"CREATE DATABASE {database} CHARACTER SET utf8mb4")
        mariadb_server.run_sql(TABLES + ROWS, database=database)
    handovers = [Handover(folder, at, _options(mariadb_server, folder, one, at)) for at, one in enumerate(databases)]
    _make_offsets(mariadb_server, folder, handovers, databases)
    for handover in handovers:
        handover.export()
    for database in databases:
        mariadb_server.run_sql(BEHIND, database=database)
    for handover in handovers:
        handover.run()
    run_debezium(folder, jars)
    yield folder
    for database in databases:
        mariadb_server.run_sql(f"DROP DATABASE {database}")


def _make_offsets(server: MariaDBServer, folder: Path, handovers: list[Handover], databases: list[str]) -> None:
    """One pipeline comes behind all that there is, the other into a transaction."""
    for handover in handovers:
        handover.run()
    server.run_sql(BEFORE, database=databases[0])
    within = change_and_stand_within(server, folder, databases[1])
    for handover in handovers:
        handover.run()
    handovers[1].set(within)


def test_debezium_goes_on_behind_the_last_transaction(captured: Path) -> None:
    assert_equal_behind(captured)


def test_debezium_tells_a_transaction_again_that_the_pipeline_stood_in(captured: Path) -> None:
    assert_transaction_told_again(captured)
