"""`cdc offsets export` of MariaDB's: a live Debezium goes on exactly where the pipeline stopped."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from differential.both import differences
from differential.handover import Handover, events, kinds, run_debezium
from differential.test_way_back import BEFORE, BEHIND, TABLES
from mysql.capture import Capture, config_for
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
        mariadb_server.run_sql(f"{TABLES} INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', NULL)", database=database)
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
    config = config_for(server, topic_prefix="g1", database_include_list=databases[1], max_batch_size=1)
    with Capture(config, folder / "mid").closing() as reading:
        reading.once()
        server.run_sql(BEFORE, database=databases[1])
        with reading.following() as batches:
            told = [batch for batch in islice(batches, 40) if batch.records][2]
    for handover in handovers:
        handover.run()
    handovers[1].set(dict(told.offset or {}))


def test_debezium_goes_on_behind_the_last_transaction(captured: Path) -> None:
    """Source blocks and all: files, positions, rows and GTIDs are equal."""
    peer, own = (events(captured / f"0.{whose}.jsonl") for whose in ("peer", "own"))
    assert kinds(peer) == kinds(own)
    assert not [*differences(peer, own)]
    assert kinds(own) == [
        ("t", "d"), ("t", None), ("t", "c"), ("t", "c"), *[("t", "u")] * 5, ("t", "d"), ("t", None), ("marker", "c"),
    ]  # fmt: skip


def test_debezium_tells_a_transaction_again_that_the_pipeline_stood_in(captured: Path) -> None:
    peer, own = (events(captured / f"1.{whose}.jsonl") for whose in ("peer", "own"))
    again = len(peer) - len(own)
    assert again > 0
    assert kinds(peer[again:]) == kinds(own)
