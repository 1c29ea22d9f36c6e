"""Spark's declarative pipelines over a table's changes: the docs' programs, run by `spark-pipelines` and a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.spark.delta import delta_settings
from cdckit.engine.spark.stream_reader import LIMITED
from kafka.reading import read_topic
from spark.conftest import spark_python
from spark.connect_client import run
from spark.own_rows import pipeline_file, with_orders
from spark.pages import examples_of
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.servers.spark_connect import SparkConnect, row_level_catalog

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not LIMITED, reason="Spark has these flows from 4.2 on"),
]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[SparkConnect]:
    """A server with Delta Lake, and a catalog `lake` of tables that take MERGE by Spark's own plans."""
    settings = {**delta_settings({}), **row_level_catalog("lake")}
    with SparkConnect(settings, PYSPARK_PYTHON=spark_python(request)) as started:
        yield started


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of three orders."""
    with with_orders(mysql_server, unique_name, "INT", "(1, 5), (2, 250), (3, 3)") as name:
        yield name


CHANGES = """
UPDATE orders SET price = 6 WHERE id = 1; UPDATE orders SET price = 7 WHERE id = 1; DELETE FROM orders WHERE id = 2;
UPDATE orders SET id = 9 WHERE id = 3; BEGIN; INSERT INTO orders VALUES (4, 1); DELETE FROM orders WHERE id = 4;
INSERT INTO orders VALUES (4, 2); COMMIT;
"""
"""Rows that are changed more than once, deleted, inserted again, and get another key."""


def laid_out(
    folder: Path, file: Path, shop: str, example: int, broker: str = "broker:9092", topic: str = "orders.rows",
    **other: str,
) -> Path:  # fmt: skip
    """One of the pipelines of the docs, in a folder of its own; `other` takes the place of what the settings say."""
    told = {
        "/etc/cdc/shop.yaml": str(file), "shop.orders": f"{shop}.orders", "s3a://lake": folder.as_uri(),
        "broker:9092": broker, "orders.rows": topic,
    }  # fmt: skip
    program = examples_of("In declarative pipelines", told)[example]
    (settings,) = examples_of("In declarative pipelines", told, "yaml")
    for name, value in other.items():
        settings = re.sub(rf"^{name}: .*$", f"{name}: {value}", settings, flags=re.MULTILINE)
    folder.mkdir()
    (folder / "orders.py").write_text(program)
    (folder / "spark-pipeline.yml").write_text(settings)
    return folder


def ask(server: SparkConnect, program: str, folder: Path) -> dict[str, Any]:
    """What a client's program leaves in `told`."""
    session = f"from pyspark.sql import SparkSession\nspark = SparkSession.builder.remote({server.url!r}).getOrCreate()"
    return run(f"{session}\n{program}", folder)


def make_namespace(server: SparkConnect, name: str, folder: Path) -> None:
    """Makes a namespace with a table: of others the catalog `lake` tells no other session."""
    ask(server, f"spark.sql('CREATE NAMESPACE {name}'); spark.sql('CREATE TABLE {name}.first (id INT)')", folder)


def run_and_compare(
    server: SparkConnect, mysql_server: MySQLServer, shop: str, folder: Path, table: str, *options: str
) -> None:
    """Runs a pipeline to the log's end, where its table has the rows of the orders."""
    ended = server.pipelines(folder, "run", *options)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    program = f"told['rows'] = [[row.id, row.price] for row in spark.table({table!r}).collect()]"
    there = [list(row) for row in mysql_server.execute(f"SELECT id, price FROM {shop}.orders ORDER BY id")]
    assert sorted(ask(server, program, folder.parent)["rows"]) == there


def test_an_auto_cdc_flow_keeps_a_table_equal(
    server: SparkConnect, mysql_server: MySQLServer, shop: str, tmp_path: Path, nightly: bool
) -> None:
    make_namespace(server, "lake.shop", tmp_path)
    folder = laid_out(tmp_path / "flow", pipeline_file(mysql_server, shop, tmp_path), shop, 0)
    run_and_compare(server, mysql_server, shop, folder, "lake.shop.orders")
    mysql_server.run_sql(f"USE {shop}; {CHANGES}")
    run_and_compare(server, mysql_server, shop, folder, "lake.shop.orders")
    if nightly:
        mysql_server.run_sql(f"USE {shop}; TRUNCATE orders; INSERT INTO orders VALUES (7, 7)")
        run_and_compare(server, mysql_server, shop, folder, "lake.shop.orders", "--full-refresh", "orders")


@pytest.mark.nightly
@pytest.mark.parametrize(("catalog", "told", "said"), [
    ("spark_catalog", ('table("orders")', 'table("orders", format="delta")'), "AUTOCDC_TARGET_DOES_NOT_SUPPORT_MERGE"),
    ("lake", (""".where("_op <> 't'")""", ""), "NULL_KEY"),
])  # fmt: skip
def test_what_spark_refuses(
    server: SparkConnect, mysql_server: MySQLServer, shop: str, tmp_path: Path, catalog: str, told: tuple[str, str],
    said: str,
) -> None:  # fmt: skip
    """Where it no longer does, the docs are out of date."""
    make_namespace(server, f"{catalog}.refused", tmp_path)
    file = pipeline_file(mysql_server, shop, tmp_path)
    folder = laid_out(tmp_path / "flow", file, shop, 0, catalog=catalog, database="refused")
    program = (folder / "orders.py").read_text()
    assert told[0] in program
    (folder / "orders.py").write_text(program.replace(*told))
    ended = server.pipelines(folder, "run")
    assert ended.returncode != 0
    assert said in ended.stdout + ended.stderr


@pytest.mark.nightly
def test_a_view_of_the_newest_changes_equals_the_table(
    server: SparkConnect, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    make_namespace(server, "spark_catalog.viewed", tmp_path)
    file = pipeline_file(mysql_server, shop, tmp_path)
    folder = laid_out(tmp_path / "view", file, shop, 1, catalog="spark_catalog", database="viewed")
    run_and_compare(server, mysql_server, shop, folder, "spark_catalog.viewed.orders")
    mysql_server.run_sql(
        f"USE {shop}; DELETE FROM orders WHERE id = 2; TRUNCATE orders; INSERT INTO orders VALUES (1, 0); {CHANGES}"
    )
    run_and_compare(server, mysql_server, shop, folder, "spark_catalog.viewed.orders")


@pytest.mark.nightly
def test_a_sink_of_messages_has_each_runs_rows(
    server: SparkConnect, mysql_server: MySQLServer, kafka_broker: KafkaBroker, shop: str, tmp_path: Path
) -> None:
    """The command ends well with them: Spark 4.2 sends it what it does not know, unless that is kept from it."""
    make_namespace(server, "spark_catalog.told", tmp_path)
    file = pipeline_file(mysql_server, shop, tmp_path)
    given = {"catalog": "spark_catalog", "database": "told", "broker": kafka_broker.bootstrap, "topic": shop}
    folder = laid_out(tmp_path / "sink", file, shop, 2, **given)

    def newest() -> list[list[int]]:
        ended = server.pipelines(folder, "run")
        assert ended.returncode == 0, ended.stdout + ended.stderr
        rows = {message.key: message.value for message in read_topic(kafka_broker.bootstrap, shop)}
        return sorted([row["id"], row["price"]] for row in map(json.loads, filter(None, rows.values())))

    for changes in ("", CHANGES, "UPDATE orders SET price = 77 WHERE id = 1"):
        mysql_server.run_sql(f"USE {shop}; {changes}")
        assert newest() == [
            list(row) for row in mysql_server.execute(f"SELECT id, price FROM {shop}.orders ORDER BY id")
        ]
