"""What stands behind cdckit, or calls it, for Python and Java, each at a version of its own."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

from testkit.servers.cache import cached
from testkit.servers.java import fetch_jars
from testkit.servers.process import run

_POLARS = "polars==2.1.0"
_QUIX_STREAMS = "quixstreams==3.28.1"
_DESERIALIZERS = ("confluent-kafka[avro,json,protobuf,schemaregistry]==2.16.1", "grpcio-tools==1.85.1")
_CLOUD_EVENTS = ("cloudevents==2.2.0", "confluent-kafka==2.16.1")
_AIRFLOW = ("apache-airflow==3.3.2", "apache-airflow-providers-standard==1.21.0")
_DATABRICKS = "databricks-sdk==0.162.0"
_OPENLINEAGE = "io.openlineage:openlineage-java:1.31.0"
_ICEBERG = "1.10.0"
_FLINK = "1.20.1"
_ICEBERG_JARS = (
    f"org.apache.iceberg:iceberg-kafka-connect-transforms:{_ICEBERG}",
    "org.apache.kafka:connect-json:4.3.1",
    "org.apache.kafka:connect-transforms:4.3.1",
)
_ICEBERG_REST_JARS = (
    f"org.apache.iceberg:iceberg-core:{_ICEBERG}",
    f"org.apache.iceberg:iceberg-core:{_ICEBERG}:tests",
    "org.eclipse.jetty:jetty-servlet:11.0.26",
    "org.xerial:sqlite-jdbc:3.50.3.0",
)
_FLINK_JARS = (
    f"org.apache.flink:flink-table-planner_2.12:{_FLINK}",
    f"org.apache.flink:flink-table-runtime:{_FLINK}",
    f"org.apache.flink:flink-table-api-java-bridge:{_FLINK}",
    f"org.apache.flink:flink-clients:{_FLINK}",
    f"org.apache.flink:flink-json:{_FLINK}",
    f"org.apache.flink:flink-connector-base:{_FLINK}",
    "org.apache.flink:flink-connector-kafka:3.4.0-1.20",
)
_SPARK_KAFKA = ("spark-sql-kafka-0-10", "spark-token-provider-kafka-0-10", "kafka-clients", "commons-pool2")
"""Spark's source of topics, and what it needs that Spark does not bring."""
_FLINK_AVRO = "1.20.0"
"""The newest on Maven Central; what it needs is in it."""
_FLINK_AVRO_JARS = (f"org.apache.flink:flink-sql-avro-confluent-registry:{_FLINK_AVRO}",)


def polars() -> Path:
    """The folder of the programs of an environment that holds polars."""
    return _environment(_POLARS)


def quix_streams() -> Path:
    """The folder of the programs of an environment that holds Quix Streams."""
    return _environment(_QUIX_STREAMS)


def confluent_deserializers() -> Path:
    """The folder of the programs of an environment that holds them, and `protoc`."""
    return _environment(*_DESERIALIZERS)


def cloud_events() -> Path:
    """The folder of the programs of an environment that holds CloudEvents' own library, and a consumer."""
    return _environment(*_CLOUD_EVENTS)


def airflow() -> Path:
    """The folder of the programs of an environment that holds Airflow. It takes some hundred MB."""
    return _environment(*_AIRFLOW)


def openlineage_jars() -> Path:
    """The folder of OpenLineage's client for Java, which lineage servers read events with."""
    return cached(_OPENLINEAGE.replace(":", "-"), lambda folder: fetch_jars([_OPENLINEAGE], folder))


def databricks() -> Path:
    """The folder of the programs of an environment that holds Databricks' own library."""
    return _environment(_DATABRICKS)


def _environment(*packages: str) -> Path:
    """The folder of the programs of an environment that holds these packages, each as ``name==version``."""
    python = f"python-{sys.version_info.major}.{sys.version_info.minor}"
    named = "-".join(re.sub(r"[^\w.]+", "-", package) for package in packages)
    return cached(f"{named}-{python}", lambda folder: _install(packages, folder)) / "bin"


def _install(packages: tuple[str, ...], folder: Path) -> None:
    run([sys.executable, "-m", "venv", folder])
    pip = (folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run([*pip, *packages])


def iceberg_jars() -> Path:
    """The folder of Iceberg's transforms for Kafka Connect, with Connect's own classes."""
    return cached(f"iceberg-transforms-{_ICEBERG}", lambda folder: fetch_jars(_ICEBERG_JARS, folder))


def iceberg_rest_jars() -> Path:
    """The folder of Iceberg's own catalog behind REST, with a web server; Hadoop's classes are Spark's."""
    return cached(f"iceberg-rest-{_ICEBERG}", lambda folder: fetch_jars(_ICEBERG_REST_JARS, folder))


def flink_jars() -> Path:
    """The folder of Flink SQL, with its Kafka connector and its JSON formats."""
    return cached(f"flink-{_FLINK}", lambda folder: fetch_jars(_FLINK_JARS, folder))


def flink_avro_jars() -> Path:
    """The folder of Flink's format `debezium-avro-confluent`."""
    return cached(f"flink-avro-{_FLINK_AVRO}", lambda folder: fetch_jars(_FLINK_AVRO_JARS, folder))


def spark_kafka_jars() -> list[Path]:
    """Spark's own source and sink for topics, for the Spark that is installed here."""
    spark = version("pyspark")
    artifact = f"org.apache.spark:{_SPARK_KAFKA[0]}_2.13:{spark}"
    folder = cached(f"spark-kafka-{spark}", lambda made: fetch_jars([artifact], made))
    return [jar for name in _SPARK_KAFKA for jar in sorted(folder.glob(f"{name}*.jar"))]


def ensure_downstream() -> None:
    """Fetches what every run of the tests needs, where it is not there yet; the nightly ones fetch the rest."""
    for fetched in (polars, iceberg_jars, iceberg_rest_jars, flink_jars):
        fetched()
