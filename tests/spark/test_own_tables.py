"""Rows of one table in jobs of one's own, and tables kept of them; the docs' examples are run as they stand there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from cdckit.errors import ConfigError
from cdckit.spark import CdckitDataSource
from cdckit_spark.jobs import changelog, mirror
from spark.own_rows import moment, own_options, pipeline_file, with_orders
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.partition("\n## Your own Spark jobs\n")[2], re.DOTALL)
Names = dict[str, Any]


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with a table of two orders."""
    with with_orders(mysql_server, unique_name, "DECIMAL(8,2)", "(1, 1.50), (2, 250)") as name:
        yield name


def rows_of(session: SparkSession, place: Path) -> list[tuple[Any, ...]]:
    """A mirror's rows."""
    frame = session.read.format("delta").load(str(place)).drop("__position")
    return sorted(tuple(row) for row in frame.collect())


def frame(session: SparkSession, *rows: tuple[str, int, str]) -> DataFrame:
    """Rows of a job, without metadata."""
    made = session.createDataFrame(list(rows), "_op string, id int, _position string")
    return made.selectExpr("id", "'x' as name", "_op", "_position", "timestamp_millis(1000) as _ts")


def without_line(rows: DataFrame) -> DataFrame:
    """Rows of a table whose key is (id, line), without the latter."""
    return rows.withMetadata("id", {"cdckit.key": 0}).withMetadata("_position", {"cdckit.key": ["id", "line"]})


def test_a_batch_without_a_query_is_counted_by_its_application(session: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    one, two = frame(session, ("c", 1, "a"), ("c", 2, "b")), frame(session, ("d", 1, "c"), ("u", 2, "d"))
    for rows, batch in ((one, 1), (two, 2), (one, 1), (one, 2)):
        assert mirror(rows, place, batch, key=["id"], application="by day") == 2
    assert rows_of(session, tmp_path / "t") == [(2, "x")]


def test_rows_may_go_into_parquet_files(session: SparkSession, tmp_path: Path) -> None:
    for _ in range(2):
        changelog(frame(session, ("c", 1, "a")), str(tmp_path / "t"), 1, application="a", options={"format": "parquet"})
    (row,) = session.read.parquet(str(tmp_path / "t")).collect()
    assert (row["__op"], row.id, row["__source_ts_ms"], row["__deleted"], row["__db"]) == ("c", 1, 1000, False, None)


@pytest.mark.parametrize(("call", "said"), [
    (lambda rows, place: mirror(rows, place, 1, application="a"), "the rows do not tell all of their key"),
    (lambda rows, place: mirror(without_line(rows), place, 1, application="a"), "do not tell all of their key"),
    (lambda rows, place: mirror(rows, place, 1, key=["no"], application="a"), "the rows have no column no"),
    (lambda rows, place: mirror(rows, place, 1, key=["id"]), "name what counts them"),
    (lambda rows, place: changelog(rows.drop("_ts"), place, 1, application="a"), "lack the columns _ts"),
    (lambda rows, _: changelog(rows, "orders", 1, application="a"), "should be a path"),
    (lambda rows, _: changelog(rows, "/lake/_delta_log", 1, application="a"), "should be a path"),
    (lambda rows, place: changelog(rows, place, 1, application="a", options={"mod": "x"}), "options.mod: unknown"),
])  # fmt: skip
def test_what_cannot_be_kept_is_refused(
    session: SparkSession, tmp_path: Path, call: Callable[[DataFrame, str], int], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        call(frame(session, ("c", 1, "a")), str(tmp_path / "t"))


def test_rows_have_the_types_of_the_table(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    mysql_server.run_sql(
        f"CREATE TABLE {shop}.kinds (id INT, line SMALLINT, name VARCHAR(20), big BIGINT UNSIGNED, seen DATETIME(3),"
        f" at TIMESTAMP NULL, raw VARBINARY(4), PRIMARY KEY (line, id)); INSERT INTO {shop}.kinds VALUES"
        f" (1, 2, 'ä', 18446744073709551615, '2024-02-29 23:59:59.123', '2024-03-01 00:00:00', x'00ff')"
    )
    begun = datetime.now(UTC)
    session.dataSource.register(CdckitDataSource)
    options = own_options(mysql_server, shop, tmp_path, table=f"{shop}.kinds")
    rows = session.read.format("cdckit").options(**options).load()
    assert rows.dtypes == [
        ("id", "int"), ("line", "smallint"), ("name", "string"), ("big", "decimal(20,0)"), ("seen", "timestamp_ntz"),
        ("at", "timestamp"), ("raw", "binary"), ("_op", "string"), ("_position", "string"), ("_ts", "timestamp"),
    ]  # fmt: skip
    assert {field.name: field.metadata for field in rows.schema if field.metadata} == {
        "id": {"cdckit.key": 1}, "line": {"cdckit.key": 0},
        "_position": {"cdckit.table": f"{shop}.kinds", "cdckit.key": ["line", "id"]},
    }  # fmt: skip
    (row,) = rows.toArrow().to_pylist()
    assert row.pop("_position")
    assert abs((row.pop("_ts") - begun).total_seconds()) < 3600
    assert row == {
        "id": 1, "line": 2, "name": "ä", "big": Decimal(2**64 - 1), "seen": datetime(2024, 2, 29, 23, 59, 59, 123000),
        "at": datetime(2024, 3, 1, tzinfo=UTC), "raw": b"\x00\xff", "_op": "r",
    }  # fmt: skip


def test_the_examples_of_the_docs(session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline, names = pipeline_file(mysql_server, shop, tmp_path), Names(spark=session)
    morning = moment()
    mysql_server.run_sql(f"INSERT INTO {shop}.orders VALUES (3, 3)")
    evening = moment()
    told = {
        "shop.yaml": str(pipeline), "shop.orders": f"{shop}.orders", "s3a://lake": str(tmp_path),
        "2026-01-31T00:00:00Z": morning.isoformat(), "2026-02-01T00:00:00Z": evening.isoformat(),
    }  # fmt: skip

    def run(example: str) -> None:
        for text, here in told.items():
            example = example.replace(text, here)
        exec(compile(example, "docs/spark.md", "exec"), names)

    register, rows, between, keep, *_ = EXAMPLES
    for example in (register, rows, between):
        run(example)
    assert [(row.id, row._op) for row in names["day"].collect()] == [(3, "c")]
    run(keep)
    _settled(names)
    assert rows_of(session, tmp_path / "orders") == [(1, Decimal("1.50")), (2, 250), (3, 3)]
    mysql_server.run_sql(
        f"UPDATE {shop}.orders SET price = 101, id = 9 WHERE id = 1; DELETE FROM {shop}.orders WHERE id = 2"
    )
    _settled(names)
    names["query"].stop()
    assert rows_of(session, tmp_path / "orders") == [(3, 3), (9, 101)]
    mysql_server.run_sql(
        f"TRUNCATE {shop}.orders; ALTER TABLE {shop}.orders ADD COLUMN note TEXT;"
        f"INSERT INTO {shop}.orders VALUES (4, 400, 'n')"
    )
    run(rows)
    run(keep.replace("foreachBatch(write)", "foreachBatch(twice)").replace(
        "\n\nquery", "\n\ndef twice(rows, batch):\n    write(rows, batch)\n    write(rows, batch)\n\n\nquery"
    ))  # fmt: skip
    _settled(names)
    names["query"].stop()
    assert rows_of(session, tmp_path / "orders") == [(4, 400, "n")]
    dear = session.read.format("delta").load(str(tmp_path / "dear_orders")).orderBy("__position")
    assert [(row["__op"], row.id, row.note, row["__table"]) for row in dear.collect()] == [
        ("t", None, None, "orders"), ("r", 2, None, "orders"), ("c", 9, None, "orders"), ("d", 2, None, "orders"),
        ("t", None, None, "orders"), ("c", 4, "n", "orders"),
    ]  # fmt: skip


def _settled(names: Names) -> None:
    names["query"].processAllAvailable()
