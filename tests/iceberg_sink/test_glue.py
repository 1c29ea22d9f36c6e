"""Tables in a catalog of Glue, which moto's server speaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog.glue import GlueCatalog

from cdckit.errors import RetriableSinkError
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.sink import IcebergSink
from delta_sink.shop import Shop
from delta_sink.test_tables import DEFINITIONS, ROWS, TABLES, logged
from iceberg_sink.test_branches import write_audit_publish
from iceberg_sink.test_catalogs import assert_one_of_two_is_told
from iceberg_sink.test_tables import assert_read_alike, lake_of
from testkit.running import PASSWORD
from testkit.servers.object_store import DurableObjectStore, ObjectStore

AGAIN = "trying again in"


def at(server: ObjectStore) -> dict[str, Any]:
    """Options of a catalog there, which asks once."""
    return {
        "type": "glue",
        "glue.endpoint": f"http://{server.endpoint}",
        "glue.region": "eu-central-1",
        "glue.access-key-id": "one",
        "glue.secret-access-key": PASSWORD,
        "glue.max-retries": 1,
    }


@pytest.fixture(scope="module")
def glue_server() -> Iterator[ObjectStore]:
    with ObjectStore() as server:
        yield server


@pytest.fixture
def glue(shop: Shop, glue_server: ObjectStore) -> Shop:
    """The database, with its tables in a database of Glue's of its name."""
    return replace(shop, catalog=(at(glue_server), shop.name))


def test_a_mirror_equals_its_source_whatever_its_definition_becomes(glue: Shop) -> None:
    glue.run(TABLES + f"ALTER TABLE pairs MODIFY v INT COMMENT '{'ä' * 300}';")
    glue.deliver()
    glue.run(ROWS)
    glue.deliver()
    glue.run(DEFINITIONS)
    glue.deliver()
    glue.assert_equal(["a", "pairs", "free", "later"])
    assert_read_alike(glue, "a", "pairs", "free", "later")
    columns = [(column["Name"], column["Type"]) for column in told(glue, "a")]
    assert columns[:2] == [("id", "bigint"), ("word", "string")]
    assert next(column["Comment"] for column in told(glue, "pairs") if column["Name"] == "v") == "ä" * 127


def told(shop: Shop, table: str) -> list[dict[str, Any]]:
    """The columns of a table as Glue has them, without those of before."""
    catalog = lake_of(shop).catalog
    assert isinstance(catalog, GlueCatalog)
    found = catalog.glue.get_table(DatabaseName=shop.name, Name=f"{shop.name}_{shop.name}_{table}")
    columns: list[dict[str, Any]] = found["Table"]["StorageDescriptor"]["Columns"]
    return [column for column in columns if column["Parameters"]["iceberg.field.current"] == "true"]


def test_a_changelog_has_each_change_once(glue: Shop) -> None:
    log = replace(glue, mode="changelog")
    logged(log, lambda: lake_of(log).found("a"))


def test_write_audit_publish(glue: Shop) -> None:
    write_audit_publish(glue)


def test_of_two_that_commit_one_is_told(tmp_path: Path, glue_server: ObjectStore, unique_name: str) -> None:
    place = {f"catalog.{name}": value for name, value in at(glue_server).items()}
    assert_one_of_two_is_told(tmp_path, {**place, "namespace": unique_name})


def test_a_catalog_that_is_away_is_waited_for(shop: Shop) -> None:
    with DurableObjectStore() as own:
        away = replace(shop, catalog=(at(own), shop.name))
        away.run("CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1)")
        with away.pipeline(errors_retry_delay_max_ms=500, errors_max_retries=-1).running() as process:
            process.wait_until(lambda: "t" in lake_of(away).names(), "a table")
            own.kill()
            away.run("INSERT INTO t VALUES (2, 2); UPDATE t SET v = 10 WHERE id = 1")
            process.wait_for(AGAIN)
            own.start()
            process.wait_until(lambda: len(lake_of(away).found("t")) == 2, "the other row")
            assert process.stop().code == 0
        away.assert_equal(["t"])


def test_a_catalog_that_does_not_answer_passes() -> None:
    with ObjectStore() as gone:
        options = {f"catalog.{name}": value for name, value in at(gone).items()}
    config = IcebergConfig.load(options, "sink")[0]
    with pytest.raises(RetriableSinkError) as failed, IcebergSink(config).faults.told("t"):
        LakeCatalog(config).make_namespace()
    assert PASSWORD not in str(failed.value)
