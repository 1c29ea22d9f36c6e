"""The sink `spark`: changelog and mirror tables of scripted logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import SinkError
from spark.script import CUSTOMERS, Script
from spark.writers import BY_DRIVER, BY_EITHER, BY_SPARK

pytestmark = pytest.mark.spark

TOPIC = "script.shop.customers"
WITH_CITY = [*CUSTOMERS, ["city", "?string"]]


class Lake:
    """Runs a script into tables, and reads them."""

    def __init__(self, session: SparkSession, script: Script, folder: Path, small: int) -> None:
        self.session = session
        self.script = script
        self.folder = folder
        self.small = small

    def run(self, mode: str, state: str = "state", **options: Any) -> None:
        options = {"small_batch_rows": self.small, **options}
        pipeline = self.script.pipeline(self.folder / state, "spark", path=self.folder / "lake", mode=mode, **options)
        SparkRunner(pipeline).run(once=True)

    def rows(self, topic: str = TOPIC, *columns: str, form: str = "delta") -> list[tuple[Any, ...]]:
        frame = self.session.read.format(form).load(str(self.folder / "lake" / topic))
        return sorted((tuple(row) for row in frame.select(*columns or ["*"]).collect()), key=repr)

    def versions(self, topic: str = TOPIC) -> int:
        from delta.tables import DeltaTable

        return DeltaTable.forPath(self.session, str(self.folder / "lake" / topic)).history().count()


@pytest.fixture(params=BY_EITHER)
def lake(session: SparkSession, script: Script, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    """Tables that one of the two writers has."""
    return Lake(session, script, tmp_path, request.param)


def test_changelog_has_every_change(lake: Lake) -> None:
    one, two = {"id": 1, "name": "one"}, {"id": 1, "name": "two"}
    lake.script.change("c", one)
    lake.script.change("u", two, one)
    lake.script.change("d", None, two)
    lake.run("changelog")
    assert lake.rows(TOPIC, "__position", "id", "name", "__op", "__deleted", "__source_ts_ms", "__db", "__table") == [
        ("s000000000000.0", 1, "one", "c", False, 1_700_000_000_000, "shop", "customers"),
        ("s000000000001.0", 1, "two", "u", False, 1_700_000_000_001, "shop", "customers"),
        ("s000000000002.0", 1, "two", "d", True, 1_700_000_000_002, "shop", "customers"),
    ]


def test_mirror_keeps_the_newest_row_of_each_key(lake: Lake) -> None:
    for number in range(6):
        lake.script.row({"id": number, "name": "snapshot"})
    lake.script.change("u", {"id": 1, "name": "a"}, {"id": 1, "name": "snapshot"})
    lake.script.change("u", {"id": 1, "name": "b"}, {"id": 1, "name": "a"})
    lake.script.change("d", None, {"id": 2, "name": "snapshot"})
    lake.script.change("c", {"id": 9, "name": "new"})
    lake.script.change("c", {"id": 8, "name": "gone"})
    lake.script.change("d", None, {"id": 8, "name": "gone"})
    lake.script.change("d", None, {"id": 3, "name": "snapshot"})
    lake.script.change("c", {"id": 3, "name": "again"})
    lake.run("mirror", cut_at=5)
    assert lake.rows(TOPIC, "id", "name") == [
        (0, "snapshot"), (1, "b"), (3, "again"), (4, "snapshot"), (5, "snapshot"), (9, "new"),
    ]  # fmt: skip


@BY_DRIVER
def test_mirror_of_a_table_without_a_key_counts_equal_rows(lake: Lake) -> None:
    def change(op: str, after: int | None = None, before: int | None = None) -> None:
        rows = [None if n is None else {"id": n, "name": "x"} for n in (after, before)]
        lake.script.change(op, *rows, key=(), table="free")

    for number in (1, 1, 1, 2):
        change("c", number)
    lake.run("mirror")
    change("d", before=1)
    change("u", 5, 2)
    change("c", 7)
    change("d", before=7)
    lake.run("mirror")
    assert lake.rows("script.shop.free", "id") == [(1,), (1,), (5,)]


def test_rows_without_a_key_are_found_though_they_are_told_otherwise(lake: Lake) -> None:
    """A snapshot tells JSON with spaces, and six digits of a FLOAT."""
    columns = [["id", "int32"], ["name", "?string"], ["f", "?float32"]]

    def change(op: str, after: Any = None, before: Any = None) -> None:
        rows = [row and dict(zip(("id", "name", "f"), row, strict=True)) for row in (after, before)]
        lake.script.change(op, *rows, key=(), table="free", columns=columns)

    for row in ((1, '{"b": 1, "a": [2]}', 1.23457), (1, '{"b": 1, "a": [2]}', 1.23457), (2, '{"a": 3}', None)):
        change("c", row)
    change("c", (2, '{"a":3}', None))
    lake.run("mirror")
    change("d", before=(2, '{"a":3}', None))
    change("u", (5, '{"a":[2],"b":1}', 1.2345678), (1, '{"a":[2],"b":1}', 1.2345678))
    change("c", (7, '{"a": 1}', 1.5))
    change("d", before=(7, '{"a":1}', 1.5))
    change("d", before=(9, "not there", None))
    lake.run("mirror")
    assert lake.rows("script.shop.free", "id", "name") == [
        (1, '{"b": 1, "a": [2]}'), (2, '{"a": 3}'), (5, '{"a":[2],"b":1}'),
    ]  # fmt: skip


@BY_DRIVER
@pytest.mark.parametrize("key", [("id",), pytest.param((), marks=pytest.mark.nightly)])
def test_truncate_empties_the_mirror(lake: Lake, key: tuple[str, ...]) -> None:
    lake.script.change("c", {"id": 1, "name": "old"}, key=key)
    lake.run("mirror")
    lake.script.change("c", {"id": 2, "name": "old"}, key=key)
    lake.script.change("t", key=key)
    lake.script.change("c", {"id": 3, "name": "new"}, key=key)
    lake.run("mirror")
    assert lake.rows(TOPIC, "id", "name") == [(3, "new")]


@BY_SPARK
def test_new_columns_are_added_inside_a_batch(lake: Lake) -> None:
    lake.script.change("c", {"id": 1, "name": "one"})
    lake.script.change("c", {"id": 2, "name": "two", "city": "Rome"}, columns=WITH_CITY)
    lake.run("changelog")
    wider = [*WITH_CITY, ["at", "?microtimestamp"]]
    lake.script.change("c", {"id": 3, "name": "x", "city": "Oslo", "at": 0}, columns=wider)
    lake.run("changelog")
    assert [row[:3] for row in lake.rows(TOPIC, "id", "city", "at")][:2] == [(1, None, None), (2, "Rome", None)]
    assert lake.rows(TOPIC, "id", "city", "at")[2][2].isoformat() == "1970-01-01T00:00:00"


@BY_DRIVER
@pytest.mark.parametrize("later", [False, True])
def test_a_type_that_does_not_fit_stops(lake: Lake, later: bool) -> None:
    token = ["token", "?string"]  # Spark hides properties that hold such a word where it shows them
    lake.script.change("c", {"id": 1, "name": "one"}, columns=[*CUSTOMERS, token])
    if later:
        lake.run("mirror")
    lake.script.change("c", {"id": 2, "name": 2}, columns=[["id", "int32"], ["name", "?int32"], token])
    with pytest.raises(SinkError, match="column 'name' became int"):
        lake.run("mirror")


def test_unavailable_values_keep_what_the_mirror_has(lake: Lake) -> None:
    gone = "__debezium_unavailable_value"
    lake.script.change("c", {"id": 1, "name": "one", "city": "Rome"}, columns=WITH_CITY)
    lake.script.change("c", {"id": 2, "name": "two", "city": "Oslo"}, columns=WITH_CITY)
    lake.run("mirror")
    lake.script.change("u", {"id": 1, "name": "uno", "city": gone}, columns=WITH_CITY)
    lake.script.change("u", {"id": 2, "name": "due", "city": "Bonn"}, columns=WITH_CITY)
    lake.script.change("u", {"id": 2, "name": "deux", "city": gone}, columns=WITH_CITY)
    lake.run("mirror")
    assert lake.rows(TOPIC, "id", "name", "city") == [(1, "uno", "Rome"), (2, "deux", "Bonn")]


def test_a_new_snapshot_starts_the_mirror_anew(lake: Lake) -> None:
    for number in range(3):
        lake.script.row({"id": number, "name": "old"})
    lake.run("mirror", marks=True)
    (lake.script.folder / "snapshot.jsonl").unlink()
    lake.script.mark("snapshot_begin", file="snapshot.jsonl")
    lake.script.row({"id": 1, "name": "new"})
    lake.run("mirror", state="another state", marks=True)
    assert lake.rows(TOPIC, "id", "name") == [(1, "new")]


@BY_SPARK
def test_parquet_changelog(lake: Lake) -> None:
    lake.script.change("c", {"id": 1, "name": "one"})
    lake.run("changelog", format="parquet")
    lake.script.change("c", {"id": 2, "name": "two"})
    lake.run("changelog", format="parquet")
    assert lake.rows(TOPIC, "id", "name", "__op", form="parquet") == [(1, "one", "c"), (2, "two", "c")]
