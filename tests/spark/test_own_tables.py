"""Rows of one table in jobs of one's own, and tables kept of them; the docs' examples are run as they stand there."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, functions as f

from cdckit.errors import ConfigError, SinkError
from cdckit.spark import CdckitDataSource
from cdckit_spark.jobs import changelog, mirror
from spark.own_rows import moment, own_options, pipeline_file, with_orders
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PAGE = (Path(__file__).parents[2] / "docs" / "spark-jobs.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
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


@pytest.mark.parametrize("small", ["0", "50000"])
def test_a_batch_that_comes_behind_later_ones_is_passed_over(session: SparkSession, tmp_path: Path, small: str) -> None:
    """Whoever writes the table, Spark or the driver."""
    place, options = str(tmp_path / "t"), {"small.batch.rows": small}
    one = frame(session, ("c", 1, "a"), ("c", 2, "b"))
    for rows, batch in ((one, 1), (frame(session, ("u", 1, "c"), ("d", 2, "d")), 2), (one, 1)):
        mirror(rows, place, batch, key=["id"], application="by day", options=options)
    found = session.read.format("delta").load(place).select("id", "__position").collect()
    assert [tuple(row) for row in found] == [(1, "c")]


@pytest.mark.parametrize("small", [pytest.param("0", marks=pytest.mark.nightly), "50000"])
def test_a_table_that_is_removed_between_two_calls_is_made_anew(
    session: SparkSession, tmp_path: Path, small: str
) -> None:
    for _ in range(2):
        rows, options = frame(session, ("c", 1, "a")), {"small.batch.rows": small}
        mirror(rows, str(tmp_path / "t"), 1, key=["id"], application="by day", options=options)
        assert rows_of(session, tmp_path / "t") == [(1, "x")]
        shutil.rmtree(tmp_path / "t")


def test_applications_count_for_themselves_in_parquet_files(session: SparkSession, tmp_path: Path) -> None:
    for number, application in enumerate(("eu/day", "us/day", "day")):
        rows = frame(session, ("c", number, "a"))
        changelog(rows, str(tmp_path / "t"), 1, application=application, options={"format": "parquet"})
    assert sorted(row.id for row in session.read.parquet(str(tmp_path / "t")).collect()) == [0, 1, 2]


def test_a_column_may_be_of_a_type_that_spark_alone_writes(session: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    for batch, row in enumerate([("c", 1, "a"), ("u", 1, "b")]):
        rows = frame(session, row).withColumn("document", f.expr("""parse_json('{"a": 1}')"""))
        mirror(rows, place, batch, key=["id"], application="a")
    found = session.read.format("delta").load(place).selectExpr("id", "document:a::int", "__position")
    assert [tuple(row) for row in found.collect()] == [(1, 1, "b")]


def test_instants_are_instants_whatever_the_session_calls_a_timestamp(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    first, second = (frame(session, row).withColumn("at", f.expr("timestamp_millis(2000)"))
                     for row in (("c", 1, "a"), ("u", 1, "b")))  # fmt: skip
    session.dataSource.register(CdckitDataSource)
    session.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        for batch, rows in enumerate((first, second.withColumn("then", f.col("at")))):
            options = {"small.batch.rows": "0"}
            mirror(rows, str(tmp_path / "t"), batch, key=["id"], application="a", options=options)
        messages = session.read.format("cdckit").options(**own_options(mysql_server, shop, tmp_path / "state")).load()
        assert dict(messages.dtypes)["timestamp"] == "timestamp"
        assert messages.where("key is not null").count() >= 2
    finally:
        session.conf.unset("spark.sql.timestampType")
    table = session.read.format("delta").load(str(tmp_path / "t"))
    assert [dict(table.dtypes)[name] for name in ("at", "then")] == ["timestamp", "timestamp"]
    assert [tuple(row) for row in table.selectExpr("unix_millis(at)", "unix_millis(then)").collect()] == [(2000, 2000)]


def test_a_path_is_a_table_of_sparks_own_catalog(session: SparkSession, tmp_path: Path, unique_name: str) -> None:
    """Where the session's is one that knows nothing of Delta."""
    own = session.newSession()
    for name, value in {
        "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        ".url": f"jdbc:derby:memory:{unique_name};create=true",
        ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }.items():
        own.conf.set(f"spark.sql.catalog.other{name}", value)
    own.sql("USE other")
    assert own.catalog.currentCatalog() == "other"
    first, second = frame(own, ("c", 1, "a")), frame(own, ("u", 1, "b")).withColumn("more", f.lit(7))
    for batch, rows in enumerate((first, second)):
        options = {"small.batch.rows": "0", "table.delta.logRetentionDuration": "interval 9 days"}
        mirror(rows, str(tmp_path / "t"), batch, key=["id"], application="a", options=options)
    found = session.read.format("delta").load(str(tmp_path / "t")).select("id", "more", "__position")
    assert [tuple(row) for row in found.collect()] == [(1, 7, "b")]


def test_a_change_that_is_not_followed_names_the_option_that_follows_it(session: SparkSession, tmp_path: Path) -> None:
    place, key = str(tmp_path / "t"), ["id"]
    mirror(frame(session, ("c", 1, "a")), place, 1, key=key, application="a")
    other = frame(session, ("c", 2, "b")).withColumn("name", f.lit(5))
    with pytest.raises(SinkError, match=r"`schema\.evolution: try_evolve` among the options has the table follow"):
        mirror(other, place, 2, key=key, application="a")
    mirror(other, place, 2, key=key, application="a", options={"schema.evolution": "try_evolve"})
    assert rows_of(session, tmp_path / "t") == [(1, "x"), (2, "5")]


@pytest.mark.parametrize(("row", "said"), [
    (("'c' as _op", "cast(null as string) as _position"), "_position is null in some"),
    (("'delete' as _op", "'b' as _position"), "_op is 'delete' in some, and should be one of c, u, r, d, t"),
])  # fmt: skip
def test_rows_that_tell_no_change_are_refused(
    session: SparkSession, tmp_path: Path, row: tuple[str, str], said: str
) -> None:
    rows = frame(session, ("c", 1, "a")).selectExpr("id", "name", *row, "_ts")
    with pytest.raises(PySparkException, match=said):
        mirror(rows, str(tmp_path / "t"), 1, key=["id"], application="a")


@pytest.mark.parametrize(("call", "said"), [
    (lambda rows, place: mirror(rows, place, 1, application="a"), "the rows do not tell all of their key"),
    (lambda rows, place: mirror(without_line(rows), place, 1, application="a"), "do not tell all of their key"),
    (lambda rows, place: mirror(rows, place, 1, key=["no"], application="a"), "the rows have no column no"),
    (lambda rows, place: mirror(rows, place, 1, key=["id"]), "name what counts them"),
    (lambda rows, place: changelog(rows.drop("_ts"), place, 1, application="a"), "lack the columns _ts"),
    (lambda rows, place: mirror(rows.withColumnRenamed("name", "ID"), place, 1, key=["id"], application="a"),
     "columns 'id' and 'ID' have one name"),
    (lambda rows, place: changelog(rows.withColumn("_position", f.lit(5)), place, 1, application="a"),
     "_position should be string, and is int"),
    (lambda rows, place: changelog(rows.withColumn("more", f.lit(None)), place, 1, application="a"),
     "column 'more' has no type"),
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


def test_threads_of_a_batch_write_its_tables(
    session: SparkSession, mysql_server: MySQLServer, shop: str, tmp_path: Path
) -> None:
    """The ones that pass on what Spark's own thread knows; others are refused, which no batch counts."""
    session.dataSource.register(CdckitDataSource)
    places, refused = [tmp_path / "a", tmp_path / "b"], list[str]()

    def write(rows: DataFrame, batch: int) -> None:
        threads = [InheritableThread(target=mirror, args=(rows, str(place), batch)) for place in places]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with ThreadPoolExecutor() as pool:
            refused.append(str(pool.submit(mirror, rows, str(tmp_path / "c"), batch).exception()))

    options = own_options(mysql_server, shop, tmp_path / "state", table=f"{shop}.orders", endAtLogEnd="true")
    rows = session.readStream.format("cdckit").options(**options).load()
    query = rows.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.processAllAvailable()
    query.stop()
    assert [rows_of(session, place) for place in places] == [[(1, Decimal("1.50")), (2, 250)]] * 2
    assert refused and all("name what counts them" in said for said in refused)


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
        exec(compile(example, "docs/spark-jobs.md", "exec"), names)

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
