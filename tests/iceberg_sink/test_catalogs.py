"""Tables in other catalogs than a database of SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import CommitFailedException

from cdckit.tables.target import BatchId
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.config import IcebergConfig
from delta_sink.shop import Shop
from iceberg_sink.reading import by_duckdb
from iceberg_sink.rest import rest_catalog
from iceberg_sink.test_evolution import target_in


def test_a_mirror_in_a_catalog_behind_rest(shop: Shop, tmp_path: Path) -> None:
    with rest_catalog(tmp_path) as uri:
        sink = {"catalog.type": "rest", "catalog.uri": uri, "namespace": "lake.of.tests", "cluster.by": "gone"}
        shop.run("CREATE TABLE t (id INT PRIMARY KEY, v INT, gone INT)")
        shop.run("INSERT INTO t VALUES (1, 1, 3), (2, 2, 2), (3, 3, 1)")
        shop.deliver(sink)
        shop.run("UPDATE t SET v = 20 WHERE id = 2; DELETE FROM t WHERE id = 1")
        shop.run("ALTER TABLE t ADD COLUMN w INT DEFAULT 7, DROP COLUMN gone; INSERT INTO t VALUES (4, 4, 4)")
        shop.deliver(sink)
        table = load_catalog("x", type="rest", uri=uri).load_table(f"lake.of.tests.{shop.name}_{shop.name}_t")
        rows = sorted((row["id"], row["v"], row["w"]) for row in by_duckdb(table))
    assert rows == [(2, 20, 7), (3, 3, 7), (4, 4, 4)]


def test_comments_as_catalogs_take_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Glue takes 255 bytes on one line, Hive's metastore 256 letters; others take all."""
    config, _ = IcebergConfig.load({"catalog.type": "sql", "catalog.uri": f"sqlite:///{tmp_path}/c.db"}, "sink")
    comments = {"a": "two\nlines 🧀", "b": "ä" * 200, "c": None}
    assert LakeCatalog(config).docs(comments) == {**comments, "c": ""}
    glue = LakeCatalog(config)
    monkeypatch.setattr(glue, "_catalog", type("GlueCatalog", (), {"__module__": "pyiceberg.catalog.glue"})())
    assert glue.docs(comments) == {"a": "two lines 🧀", "b": "ä" * 127, "c": ""}


def test_of_two_that_commit_behind_rest_one_is_told(tmp_path: Path) -> None:
    with rest_catalog(tmp_path) as uri:
        assert_one_of_two_is_told(tmp_path, {"catalog.type": "rest", "catalog.uri": uri})


def assert_one_of_two_is_told(folder: Path, place: Mapping[str, str]) -> None:
    """Two that have the same table open commit the same batch to it."""
    one, other = (target_in(folder, **place) for _ in range(2))
    one.create({"id": "int"}, {})
    assert other.version_of("p/g") is None
    rows = one.table.scan().to_arrow().schema.empty_table()
    one.append(rows, BatchId("p/g", 1))
    with pytest.raises(CommitFailedException):
        other.append(rows, BatchId("p/g", 1))
    assert other.version_of("p/g") == 1
