"""Tables that are named by their catalog, their database and their topic."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from cdckit import MarkKind
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import ConfigError, SinkError
from cdckit.tables.context import TableContext
from cdckit.tables.groups import Mode
from cdckit.tables.marks import Mark
from cdckit.tables.target import BatchId
from cdckit_spark.catalogs import is_sparks_own
from cdckit_spark.config import LakeConfig
from cdckit_spark.own_session import with_settings
from cdckit_spark.sink import LakeSink
from cdckit_spark.targets import DeltaTarget, _transaction as transaction
from cdckit_spark.unfinished import remove_unknown
from spark.script import CUSTOMERS, Script
from spark.test_two_writers import DRIVER, SPARK, Writers

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

OWN = "spark_catalog"
WITH_CITY = [*CUSTOMERS, ["city", "?string"]]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The folder of the database, which a URL writes otherwise."""
    return tmp_path / "a lake 100%41"


@pytest.fixture
def database(session: SparkSession, unique_name: str, place: Path) -> Iterator[str]:
    """A database in Spark's own catalog, dropped after the test."""
    yield from _made(session, unique_name, place)


@pytest.fixture
def shared_place(tmp_path: Path) -> Path:
    """That of a database which delta-rs finds, too."""
    return tmp_path / "a lake"


@pytest.fixture
def shared(session: SparkSession, unique_name: str, shared_place: Path) -> Iterator[str]:
    """Such a database, dropped after the test."""
    yield from _made(session, unique_name, shared_place)


def _made(session: SparkSession, name: str, place: Path) -> Iterator[str]:
    session.sql(f"CREATE DATABASE {name} LOCATION '{place}'")
    yield name
    session.sql(f"DROP DATABASE {name} CASCADE")


@pytest.fixture
def second(session: SparkSession, unique_name: str) -> Iterator[str]:
    """A catalog of another name, whose tables Delta keeps; its databases are those of Spark's own."""
    name, setting = f"c{unique_name}", f"spark.sql.catalog.c{unique_name}"
    session.conf.set(setting, "org.apache.spark.sql.delta.catalog.AbstractDeltaCatalog")
    manager = session._jsparkSession.sessionState().catalogManager()
    manager.catalog(name).setDelegateCatalog(manager.v2SessionCatalog())
    yield name
    session.conf.unset(setting)


def content(session: SparkSession, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in session.table(table).select(*columns).collect())


@pytest.mark.parametrize("mode", [pytest.param("changelog", marks=pytest.mark.nightly), "mirror"])
def test_a_pipeline_keeps_tables_by_three_names(
    session: SparkSession, script: Script, tmp_path: Path, database: str, mode: str
) -> None:
    """Made, merged into, with a column that is added and one that goes, and emptied."""

    def run() -> None:
        options: dict[str, Any] = {
            "mode": mode,
            "database": f"{OWN}.{database}",
            "table.delta.logRetentionDuration": "interval 9 days",
        }
        SparkRunner(script.pipeline(tmp_path / "state", "spark", marks=True, **options)).run(once=True)

    table = f"{OWN}.{database}.script_shop_customers"
    script.change("c", {"id": 1, "name": "one"})
    script.change("c", {"id": 2, "name": "two"})
    run()
    script.change("u", {"id": 1, "name": "new", "city": "Rome"}, {"id": 1, "name": "one"}, columns=WITH_CITY)
    script.change("d", None, {"id": 2, "name": "two", "city": None}, columns=WITH_CITY)
    run()
    found = content(session, table, "id", "name", "city")
    if mode == "mirror":
        assert found == [(1, "new", "Rome")]
    else:
        assert len(found) == 4
        assert (1, "new", "Rome") in found
    [detail] = session.sql(f"DESCRIBE DETAIL {table}").collect()
    assert detail.properties["cdckit.topic"] == "script.shop.customers"
    assert detail.properties["delta.logRetentionDuration"] == "interval 9 days"


def _sink(session: SparkSession, database: str, mode: Mode, small: int, *, marks: bool = False) -> LakeSink:
    given = {"database": database, "mode": mode, "small.batch.rows": small}
    sink = LakeSink(LakeConfig.load(given, "sink")[0])
    sink.open(session, TableContext("p", "g", marks=marks))
    return sink


@pytest.mark.parametrize("mode", [pytest.param("changelog", marks=pytest.mark.nightly), "mirror"])
def test_spark_and_the_driver_write_a_database_in_turn(
    session: SparkSession, tmp_path: Path, shared: str, shared_place: Path, mode: Mode
) -> None:
    """And a batch that comes again to the other one is there once."""
    rows, name = Writers(session, tmp_path, mode), f"{OWN}.{shared}"
    sinks = {small: _sink(session, name, mode, small) for small in (SPARK, DRIVER)}
    batches = [[("c", 1, "a", "1"), ("c", 2, "b", "2")], [("u", 1, "c", "3")], [("d", 2, "b", "4"), ("c", 3, "d", "5")]]
    for number, batch in enumerate(batches):
        first, second = (SPARK, DRIVER) if number % 2 else (DRIVER, SPARK)
        for small in (first, second):
            sinks[small].write(rows.frame(batch), number)
    assert content(session, f"{name}.t", "id", "name") == (
        [(1, "c"), (3, "d")] if mode == "mirror" else [(1, "a"), (1, "c"), (2, "b"), (2, "b"), (3, "d")]
    )
    assert {"Spark", "delta-rs"} <= {*Writers(session, shared_place, mode).writers()}


def test_a_table_that_lies_elsewhere_is_sparks(
    session: SparkSession, tmp_path: Path, shared: str, shared_place: Path
) -> None:
    """Also where it has come there between two batches, and the former folder is still there."""
    rows, sink = Writers(session, tmp_path, "changelog"), _sink(session, shared, "changelog", DRIVER)
    sink.write(rows.frame([("c", 1, "a", "1")]), 0)
    shutil.copytree(shared_place / "t", tmp_path / "t")
    session.sql(f"DROP TABLE {shared}.t")
    shutil.copytree(tmp_path / "t", shared_place / "t")
    session.sql(f"CREATE TABLE {shared}.t USING delta LOCATION '{tmp_path / 't'}'")
    sink.write(rows.frame([("c", 2, "b", "2")]), 1)
    assert content(session, f"{shared}.t", "id") == [(1,), (2,)]
    session.sql(f"DROP TABLE {shared}.t")
    session.sql(f"CREATE TABLE {shared}.t USING delta LOCATION '{shared_place / 't'}'")  # for the fixture to remove
    assert content(session, f"{shared}.t", "id") == [(1,)]


@pytest.mark.parametrize("mode", ["changelog", "mirror"])
def test_another_catalogs_tables(session: SparkSession, tmp_path: Path, database: str, second: str, mode: Any) -> None:
    """Its class is Delta's own, as catalogs with Delta tables bring it."""
    writers = Writers(session, tmp_path, mode)
    given = {"database": f"{second}.{database}", "mode": mode, "cluster.by": "id"}
    sink = LakeSink(LakeConfig.load(given, "sink")[0])
    sink.open(session, TableContext("p", "g", marks=mode == "mirror"))
    sink.write(writers.frame([("c", 1, "a", "0001"), ("c", 2, "b", "0002")]), 0)
    rows = writers.frame([("u", 1, "c", "0003"), ("d", 2, "b", "0004")])
    for _ in range(2):
        sink.write(rows, 1)
    table = f"{second}.{database}.t"
    assert content(session, table, "id", "name") == (
        [(1, "c")] if mode == "mirror" else [(1, "a"), (1, "c"), (2, "b"), (2, "b")]
    )
    if mode == "mirror":
        sink.write(writers.frame_of([Mark(MarkKind.TRUNCATE, "0005", "d.a", "d.a").packet("t")]), 2)
        assert content(session, table, "id") == []
    [detail] = session.sql(f"DESCRIBE DETAIL {OWN}.{database}.t").collect()
    assert (detail.clusteringColumns, detail.properties["cdckit.topic"]) == (["id"], "t")


def test_a_merge_knows_the_catalogs_that_were_set_while_the_session_ran(session: SparkSession, second: str) -> None:
    own = transaction(session, BatchId("p/g", 7))
    assert own.conf.get(f"spark.sql.catalog.{second}") == session.conf.get(f"spark.sql.catalog.{second}")
    assert own.conf.get("spark.databricks.delta.write.txnVersion") == "7"
    assert session.conf.get("spark.databricks.delta.write.txnVersion", None) is None


@pytest.mark.parametrize(
    ("database", "said"),
    [
        ("default", r"'default' is in the memory of this Spark, .* 'spark\.sql\.catalogImplementation: hive'"),
        ("spark_catalog.Default", r"'spark_catalog\.Default' is in the memory of this Spark"),
        ("nowhere", r"there is no database 'nowhere': .* 'spark\.hadoop\.hive\.metastore\.uris', where it is"),
    ],
)
def test_databases_that_the_next_start_would_not_find_are_refused(
    session: SparkSession, database: str, said: str
) -> None:
    """Before anything is read: nothing goes on behind tables that Spark has forgotten."""
    with pytest.raises(ConfigError, match=rf"sink\.database: {said}"):
        LakeSink(LakeConfig(database=database)).open(session, TableContext("p", "g"))


def test_a_table_that_only_its_folder_knows_is_made_anew(
    session: SparkSession, tmp_path: Path, database: str, place: Path
) -> None:
    """As a kill leaves it behind Delta's commit; not one that has rows, or is another pipeline's."""
    target = DeltaTarget(session, LakeConfig(database=database), "t")
    folder = place / "t"
    notes = {"pipeline": "p", "definitions": "of now"}
    target.create({"id": "int"}, {**notes, "definitions": "of before"})
    assert target.folder == f"file:{folder}"
    shutil.copytree(folder, tmp_path / "kept")
    session.sql(f"DROP TABLE {database}.t")
    shutil.copytree(tmp_path / "kept", folder)
    with pytest.raises(AnalysisException, match="not empty"):
        target.create({"id": "int"}, {**notes, "pipeline": "q"})
    target.create({"id": "int"}, notes)
    assert target.notes() == {"topic": "t", **notes}
    target.append(session.range(1).selectExpr("int(id) as id"), BatchId("p/g", 0))
    shutil.copytree(folder, tmp_path / "filled")
    session.sql(f"DROP TABLE {database}.t")
    shutil.copytree(tmp_path / "filled", folder)
    with pytest.raises(AnalysisException, match="not empty"):
        target.create({"id": "int"}, notes)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (None, r"Spark has no catalog 'lake': name its class by 'spark\.sql\.catalog\.lake'"),
        ("org.apache.spark.sql.delta.catalog.DeltaCatalog", r"'lake' is DeltaCatalog, .* name that one"),
    ],
)
def test_catalogs_that_hold_no_tables_are_refused(session: SparkSession, kind: str | None, said: str) -> None:
    if kind is not None:
        session.conf.set("spark.sql.catalog.lake", kind)
    try:
        with pytest.raises(ConfigError, match=said):
            LakeSink(LakeConfig(database="lake.shop")).open(session, TableContext("p", "g"))
    finally:
        session.conf.unset("spark.sql.catalog.lake")


@pytest.mark.parametrize("named", [True, False])
def test_a_catalog_without_delta_tables_says_so(
    session: SparkSession, tmp_path: Path, unique_name: str, named: bool
) -> None:
    """That of another database, by JDBC; also where it is the session's, so that `database` need not name it."""
    setting = f"spark.sql.catalog.{unique_name}"
    settings = {
        setting: "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
        f"{setting}.url": f"jdbc:derby:memory:{unique_name};create=true",
        f"{setting}.driver": "org.apache.derby.jdbc.EmbeddedDriver",
        **({} if named else {"spark.sql.defaultCatalog": unique_name}),
    }
    rows = Writers(session, tmp_path, "changelog").frame([("c", 1, "a", "0001")])
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        sink = LakeSink(LakeConfig(database=f"{unique_name}.APP" if named else "APP"))
        sink.open(session, TableContext("p", "g"))
        with pytest.raises(SinkError, match=r"USING|provider|delta"):
            sink.write(rows, 0)
    finally:
        for name in settings:
            session.conf.unset(name)


def test_a_catalog_in_the_place_of_sparks_own_is_not_taken_for_it(session: SparkSession) -> None:
    """Such as Unity's: it does not forget its tables, and Spark does not know where it puts them."""
    unity = {f"spark.sql.catalog.{OWN}": "io.unitycatalog.spark.UCSingleCatalog"}
    config = LakeConfig(database=f"{OWN}.shop")
    assert [is_sparks_own(one, config) for one in (session, with_settings(session, unity))] == [True, False]
    remove_unknown(session, "nowhere", "t", {})  # as behind `USE`, which no setting tells of
