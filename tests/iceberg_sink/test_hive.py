"""Tables in a metastore of Hive."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.hive import HiveCatalog

from cdckit.errors import RetriableSinkError
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.sink import IcebergSink
from delta_sink.shop import Shop
from delta_sink.test_kill import kill_and_compare
from delta_sink.test_tables import DEFINITIONS, ROWS, TABLES, logged
from iceberg_sink.test_catalogs import assert_one_of_two_is_told
from iceberg_sink.test_tables import assert_read_alike, lake_of
from testkit.running import PASSWORD
from testkit.servers.hive import HiveMetastore

AGAIN = "trying again in"


@pytest.fixture(scope="module")
def metastore() -> Iterator[HiveMetastore]:
    with HiveMetastore() as server:
        yield server


@pytest.fixture
def hive(shop: Shop, metastore: HiveMetastore) -> Shop:
    """The database, with its tables in a namespace of the metastore's of its name."""
    return replace(shop, catalog=({"type": "hive", "uri": metastore.uri}, shop.name))


def test_a_mirror_equals_its_source_whatever_its_definition_becomes(hive: Shop) -> None:
    hive.run(TABLES)
    hive.deliver()
    hive.run(ROWS)
    hive.deliver()
    hive.run(DEFINITIONS)
    hive.deliver()
    hive.assert_equal(["a", "pairs", "free", "later"])
    assert_read_alike(hive, "a", "pairs", "free", "later")
    catalog = lake_of(hive).catalog
    assert isinstance(catalog, HiveCatalog)
    with catalog._client as client:
        columns = client.get_table(hive.name, f"{hive.name}_{hive.name}_a").sd.cols
    assert [(column.name, column.type) for column in columns][:2] == [("id", "bigint"), ("word", "string")]
    assert lake_of(hive).table("a").location().startswith(f"file:{hive.folder}/lake/{hive.name}.db/")


def test_a_changelog_has_each_change_once(hive: Shop) -> None:
    log = replace(hive, mode="changelog")
    logged(log, lambda: lake_of(log).found("a"))
    assert_read_alike(log, "a", "pairs")


def test_names_in_other_case_stay_as_they_are(hive: Shop) -> None:
    """Of columns: what the metastore has in small letters is not what tables have."""
    hive.run("CREATE TABLE Upper (Id INT PRIMARY KEY, camelCase INT); INSERT INTO Upper VALUES (1, 1), (2, 2)")
    hive.deliver()
    hive.run("UPDATE Upper SET camelCase = 5 WHERE Id = 1; ALTER TABLE Upper RENAME COLUMN camelCase TO CamelCase")
    hive.run("INSERT INTO Upper VALUES (3, 3)")
    hive.deliver()
    hive.assert_equal(["Upper"])
    assert lake_of(hive).table("Upper").schema().column_names[:2] == ["Id", "CamelCase"]


@pytest.mark.timeout(600)
def test_a_mirror_equals_its_source_after_a_kill(hive: Shop, nightly: bool) -> None:
    kill_and_compare(hive, 20 if nightly else 1)


def test_two_pipelines_write_into_one_namespace(hive: Shop, tmp_path: Path, afterwards: ExitStack) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    other = replace(hive, folder=folder, mode="changelog", name=f"{hive.name}_b")
    hive.server.execute(f"CREATE DATABASE {other.name}")
    afterwards.callback(hive.server.execute, f"DROP DATABASE {other.name}")
    for shop in (hive, other):
        shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    with hive.pipeline().running("--once") as one, other.pipeline().running("--once") as two:
        assert (one.ended().code, two.ended().code) == (0, 0), one.log + two.log
    hive.assert_equal(["t"])
    other.assert_equal(["t"])
    assert len(lake_of(hive).catalog.list_tables(hive.name)) == 2


def test_tables_that_are_committed_at_once_have_connections_of_their_own(hive: Shop) -> None:
    names = [f"t{number}" for number in range(8)]
    hive.run(";".join(f"CREATE TABLE {name} (id INT PRIMARY KEY, v INT)" for name in names))
    hive.run(";".join(f"INSERT INTO {name} VALUES (1, 1)" for name in names))
    hive.deliver({"tables.parallel": 8})
    hive.run(";".join(f"UPDATE {name} SET v = 2" for name in names))
    hive.deliver({"tables.parallel": 8})
    hive.assert_equal(names)


def test_of_two_that_commit_one_is_told(tmp_path: Path, metastore: HiveMetastore, unique_name: str) -> None:
    place = {"catalog.type": "hive", "catalog.uri": metastore.uri, "namespace": unique_name}
    assert_one_of_two_is_told(tmp_path, place)


def test_a_table_that_somebody_else_has_locked_is_waited_for(hive: Shop) -> None:
    """The lock is Hive's: a commit takes it, or is tried again."""
    from hive_metastore.ttypes import HeartbeatRequest, UnlockRequest

    hive.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)")
    hive.deliver()
    catalog = lake_of(hive).catalog
    assert isinstance(catalog, HiveCatalog)
    with catalog._client as client:
        lock = client.lock(catalog._create_lock_request(hive.name, f"{hive.name}_{hive.name}_t"))

    def waits() -> bool:
        with catalog._client as client:  # which gives up what is not asked for anew
            client.heartbeat(HeartbeatRequest(lockid=lock.lockid))
        return AGAIN in process.log

    hive.run("INSERT INTO t VALUES (2, 2)")
    quick = {"catalog.lock-check-retries": "1"}
    with hive.pipeline(quick, errors_retry_delay_max_ms=200).running("--once") as process:
        process.wait_until(waits, "an attempt that fails")
        with catalog._client as client:
            client.unlock(UnlockRequest(lockid=lock.lockid))
        assert process.ended().code == 0, process.log
    hive.assert_equal(["t"])


@pytest.mark.nightly
def test_a_metastore_that_is_away_is_waited_for(hive: Shop) -> None:
    """When a pipeline starts, and while it runs; nothing that is secret is shown."""
    with HiveMetastore() as own:
        secret = {"catalog.s3.secret-access-key": PASSWORD}
        away = replace(hive, catalog=({"type": "hive", "uri": own.uri}, hive.name))
        own.stop()
        away.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)")
        with away.pipeline(secret, errors_retry_delay_max_ms=500, errors_max_retries=-1).running() as process:
            process.wait_for(AGAIN)
            own.start()
            process.wait_until(lambda: bool(lake_of(away).found("t")), "a row")
            own.kill()
            told = process.log.count(AGAIN)
            away.run("INSERT INTO t VALUES (2, 2); UPDATE t SET v = 10 WHERE id = 1")
            process.wait_for(AGAIN, told + 1)
            own.start()
            process.wait_until(lambda: len(lake_of(away).found("t")) == 2, "the other row")
            assert process.stop().code == 0
        away.assert_equal(["t"])


@pytest.mark.nightly
def test_columns_that_a_metastore_does_not_let_change_are_told(hive: Shop) -> None:
    strict = "metastore_disallow_incompatible_col_type_changes"
    with HiveMetastore().start(**{strict: "true"}) as own:
        kept = replace(hive, catalog=({"type": "hive", "uri": own.uri}, hive.name))
        kept.run("CREATE TABLE t (id INT PRIMARY KEY, gone VARCHAR(9), v INT); INSERT INTO t VALUES (1, 'a', 1)")
        kept.deliver()
        kept.run("ALTER TABLE t DROP COLUMN gone; INSERT INTO t VALUES (2, 2)")
        ended = kept.pipeline().run("--once")
        assert ended.code == 4 and "types incompatible with the existing columns" in ended.errors
        own.restart(**{strict: "false"})
        kept.deliver()
        kept.assert_equal(["t"])


def test_a_metastore_that_is_away_passes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    options = {
        "catalog.type": "hive",
        "catalog.uri": f"thrift://127.0.0.1:{port}",
        "catalog.s3.session-token": PASSWORD,
    }
    config = IcebergConfig.load(options, "sink")[0]
    faults = IcebergSink(config).faults
    with pytest.raises(RetriableSinkError, match=r"table of topic t: .*127\.0\.0\.1") as told, faults.told("t"):
        LakeCatalog(config).make_namespace()
    assert PASSWORD not in str(told.value)
