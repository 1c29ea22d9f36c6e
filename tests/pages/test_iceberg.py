"""The pipeline of the page on the sink `iceberg`, as it stands there."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog

from cdckit_iceberg.reading import current_rows
from pages.page import Page
from testkit.running import PASSWORD
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES

TABLE = "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, v INT)"


@pytest.fixture
def server(mysql_server: MySQLServer) -> Iterator[MySQLServer]:
    """A server with the page's database, which is dropped after the test."""
    mysql_server.create_user("cdc", PASSWORD, CAPTURE_PRIVILEGES)
    mysql_server.run_sql(f"{TABLE}; INSERT INTO shop.orders VALUES (1, 1), (2, 2), (3, 3)")
    yield mysql_server
    mysql_server.run_sql("DROP DATABASE shop; DROP USER cdc")


def test_the_pages_pipeline_keeps_a_mirror(server: MySQLServer, tmp_path: Path) -> None:
    page = Page("sinks/iceberg.md", tmp_path)
    written = next(block for block in page.blocks("yaml") if block.startswith("name: shop\n"))
    (tmp_path / "pipeline.yaml").write_text(written)
    variables = {
        "MYSQL_HOST": server.host,
        "MYSQL_PORT": str(server.port),
        "MYSQL_PASSWORD": PASSWORD,
        "LAKE": str(tmp_path / "lake"),
    }
    (tmp_path / "lake").mkdir()
    run(tmp_path, variables)
    server.run_sql("UPDATE shop.orders SET v = 20 WHERE id = 2; DELETE FROM shop.orders WHERE id = 1")
    run(tmp_path, variables)
    place = {"type": "sql", "uri": f"sqlite:///{tmp_path}/lake/catalog.db"}
    catalog = load_catalog("default", **place)
    rows = current_rows(catalog, "lake.shop_shop_orders").to_pylist()
    assert sorted((row["id"], row["v"]) for row in rows) == [(2, 20), (3, 3)]
    table = catalog.load_table("lake.shop_shop_orders")
    assert [field.name for field in table.spec().fields] == ["id_bucket"]
    assert table.properties["write.parquet.compression-codec"] == "zstd"


def run(folder: Path, variables: dict[str, str]) -> None:
    command = [sys.executable, "-m", "cdckit", "run", "pipeline.yaml", "--once"]
    subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)
