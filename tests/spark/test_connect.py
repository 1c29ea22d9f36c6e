"""Jobs of one's own over Spark Connect: a server and its client, each a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka.reading import read_topic
from spark.conftest import spark_python
from spark.connect_client import run
from spark.own_rows import pipeline_file, with_orders
from spark.pages import cells_of, examples_of
from testkit.running import create_reader
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mysql import MySQLServer
from testkit.servers.spark_connect import SparkConnect

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[SparkConnect]:
    """A server whose Python processes have a password in their environment."""
    with SparkConnect(PYSPARK_PYTHON=spark_python(request), KAFKA_PASSWORD="hidden") as started:
        yield started


@pytest.fixture
def orders(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of two orders."""
    with with_orders(mysql_server, unique_name, "INT", "(1, 5), (2, 250)") as name:
        create_reader(mysql_server)
        yield name


READ = """
told["rows"] = sorted([row.id, row.price, row._op] for row in stock.collect())
from pyspark.sql import functions as f
reader = spark.readStream.format("cdckit").option("endAtLogEnd", "true")
changes = reader.option("pipeline", FILE).option("state", FOLDER + "/changes").load()
orders = reader.option("pipeline", FILE).option("state", FOLDER + "/orders").option("table", TABLE).load()
"""
SETTLE = """
query.processAllAvailable()
query.stop()
told["shown"] = str(query.recentProgress)
"""
IN_A_BATCH = """
def copy(rows, batch):
    made = rows.where("_op <> 't'").selectExpr("to_json(struct(id)) as key", "to_json(struct(*)) as value")
    made.write.format("cdckit").option("sink.bootstrap.servers", BROKER).option("topic", TOPIC).mode("append").save()


query = orders.writeStream.foreachBatch(copy).option("checkpointLocation", FOLDER + "/c1").start()
query.processAllAvailable()
query.stop()


def keep(rows, batch):
    from cdckit_spark.jobs import mirror
    mirror(rows, FOLDER + "/lake/orders", batch, application="a")


from cdckit_spark.jobs import changelog
try:
    changelog(stock, FOLDER + "/lake/orders", 1, application="a")
except Exception as error:
    told["changelog"] = f"{type(error).__name__}: {error}"
query = orders.writeStream.foreachBatch(keep).option("checkpointLocation", FOLDER + "/c2").start()
try:
    query.processAllAvailable()
except Exception as error:
    told["mirror"] = str(error)
reader = spark.readStream.format("cdckit").option("source.type", "mysql").option("source.database.hostnam", "h")
try:
    reader.load().schema
except Exception as error:
    told["wrong"] = str(error)
"""


def test_a_client_reads_and_writes_as_any_job_and_is_told_what_it_cannot(
    server: SparkConnect, mysql_server: MySQLServer, kafka_broker: KafkaBroker, orders: str, tmp_path: Path
) -> None:
    file = pipeline_file(mysql_server, orders, tmp_path)
    told = {
        "sc://cluster:15002": server.url, "/etc/cdc/shop.yaml": str(file),
        "shop.shop.orders": f"{orders}.{orders}.orders",
        "s3a://lake": str(tmp_path), "broker:9092": kafka_broker.bootstrap, "orders.copied": f"{orders}.copied",
        "orders.rows": f"{orders}.rows", '"copied"': f'"{orders}"', '"shop.orders"': f'"{orders}.orders"',
    }  # fmt: skip
    (connect,) = examples_of("Spark Connect", told)
    copied, rows = examples_of("Messages to Kafka", told)
    names = {
        "FILE": str(file), "FOLDER": str(tmp_path), "TABLE": f"{orders}.orders", "BROKER": kafka_broker.bootstrap,
        "TOPIC": f"{orders}.batches",
    }  # fmt: skip
    given = "\n".join(f"{name} = {value!r}" for name, value in names.items())
    found = run("\n".join([connect, given, READ, copied, SETTLE, rows, SETTLE, IN_A_BATCH]), tmp_path)
    assert found["rows"] == [[1, 5, "r"], [2, 250, "r"]]
    sent = read_topic(kafka_broker.bootstrap, f"{orders}.copied")
    assert sorted(json.loads(record.value or b"")["payload"]["after"]["price"] for record in sent) == [5, 250]
    of_rows = read_topic(kafka_broker.bootstrap, f"{orders}.rows")
    assert sorted((record.key, record.value) for record in of_rows) == [
        (b'{"id":1}', b'{"id":1,"price":5}'), (b'{"id":2}', b'{"id":2,"price":250}'),
    ]  # fmt: skip
    in_batches = read_topic(kafka_broker.bootstrap, f"{orders}.batches")
    assert sorted(json.loads(record.value or b"")["price"] for record in in_batches) == [5, 250]
    assert "ConfigError: changelog: rows of Spark Connect cannot be written into tables from here" in found["changelog"]
    assert "mirror: rows of Spark Connect cannot be written into tables from here" in found["mirror"]
    assert "source.database.hostnam: unknown option; did you mean" in found["wrong"]
    assert "hidden" not in json.dumps(found)


def test_a_notebook_reads_by_a_server(
    server: SparkConnect, mysql_server: MySQLServer, orders: str, tmp_path: Path
) -> None:
    file = pipeline_file(mysql_server, orders, tmp_path)
    told = {"/etc/cdc/shop.yaml": str(file), "shop.orders": f"{orders}.orders", "/data/lake": str(tmp_path / "lake")}
    cells = cells_of("mirror.ipynb", told, driver=False)
    remote = f"import os\nos.environ['SPARK_REMOTE'] = {server.url!r}"
    asked = """
told["session"] = type(spark).__module__
told["rows"] = sorted([row.id, row.price, row._op] for row in rows.collect())
told["columns"] = changes.columns
"""
    found = run("\n".join([remote, *cells, asked]), tmp_path)
    assert found["session"] == "pyspark.sql.connect.session"
    assert found["rows"] == [[1, 5, "r"], [2, 250, "r"]]
    assert found["columns"] == ["id", "price", "_op", "_position", "_ts"]
