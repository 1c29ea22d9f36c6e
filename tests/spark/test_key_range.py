"""Merges by Spark read the files alone that a key of the batch can be in, and come to the same as without that."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cdckit.api.record import UNAVAILABLE_HEADER, Header
from cdckit.connector.envelope import OLD_KEY
from cdckit.errors import SinkError
from cdckit.tables.target import literal
from cdckit_spark import mirror as mirrors, targets
from cdckit_spark.jobs import mirror
from cdckit_spark.key_range import _widened
from spark.test_encoder import KEY, event, key
from spark.test_two_writers import Writers
from testkit.files_away import files_away

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

Change = tuple[str, str | None, str]
"""An operation, a key as text, and a value."""
SPARK, DRIVER = "0", "1000"
"""Values of `small.batch.rows`."""


@dataclass
class Mirror:
    """A mirror of rows `(k, v)`, kept by Spark unless said otherwise."""

    session: SparkSession
    path: Path
    kind: str
    key: str = "k"
    batch: int = 0

    def write(self, *changes: Change, small: str = SPARK) -> None:
        self.batch += 1
        found = [(op, key, value, f"{self.batch:04}.{place:04}") for place, (op, key, value) in enumerate(changes)]
        rows = self.session.createDataFrame(found, "_op string, k string, v string, _position string").selectExpr(
            f"cast(k as {self.kind}) as `{self.key}`", "v", "_op", "_position", "timestamp_millis(0) as _ts"
        )
        options = {"small.batch.rows": small, "small.table.bytes": "100000"}
        mirror(rows, str(self.path), self.batch, key=[self.key], application="a", options=options)

    def add_file(self, key: str, value: str) -> None:
        """A row in a file of its own."""
        rows = f"cast({literal(key)} as {self.kind}), '{value}', '{self.batch:04}.5'"
        self.session.sql(f"INSERT INTO delta.`{self.path}` SELECT {rows}")

    def rows(self) -> dict[str | None, str]:
        found = self.session.read.format("delta").load(str(self.path))
        pairs = [tuple(row) for row in found.selectExpr(f"cast(`{self.key}` as string)", "v").collect()]
        assert len({key for key, _ in pairs}) == len(pairs), "no key is there twice"
        return dict(pairs)

    def without(self, *values: str) -> AbstractContextManager[None]:
        """While the files that have these values are gone."""
        return without_files(self.path, *values)


def without_files(table: Path, *values: str) -> AbstractContextManager[None]:
    """While the files of a table are gone whose second column has some values."""
    moved = [file for file in table.rglob("*.parquet") if "_delta_log" not in file.parts]
    moved = [file for file in moved if {*pq.read_table(file).columns[1].to_pylist()} & {*values}]
    return files_away(moved)


@pytest.fixture(autouse=True)
def however_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the range asked for also of tables that are read sooner than that."""
    monkeypatch.setattr(targets, "LEAST_BYTES", 0)


KEYS = {
    "int": ("-7", "0", "12"),
    "decimal(20,0)": ("1", "9007199254740993", "18446744073709551615"),
    "decimal(9,2)": ("-1.25", "0.00", "3.50"),
    "date": ("0001-01-01", "1969-12-31", "9999-12-31"),
    "timestamp": ("1960-01-01 00:00:00.123456", "1999-10-31 00:30:00", "2262-01-01 00:00:00.000001"),
    "timestamp_ntz": ("1000-01-01 00:00:00", "1999-10-31 00:30:00.5", "9999-12-31 23:59:59.999999"),
    "string": ("", "o'ne ${env:HOME} \\ ä" + "x" * 40, "ü" * 40),
}
"""Of each type a least, a middle and a greatest key."""
EACH_DAY = {"int"}
CASES = [pytest.param(kind, marks=() if kind in EACH_DAY else pytest.mark.nightly) for kind in KEYS]


@pytest.mark.parametrize("kind", CASES)
def test_files_without_a_key_of_the_batch_are_not_read(session: SparkSession, tmp_path: Path, kind: str) -> None:
    least, middle, greatest = KEYS[kind]
    table = Mirror(session, tmp_path / "t", kind, key="the key" if kind == "int" else "k")
    table.write(("c", least, "low"))
    table.add_file(middle, "middle")
    table.add_file(greatest, "high")
    shown = {value: key for key, value in table.rows().items()}
    with table.without("low", "high"):
        table.write(("u", middle, "changed"))
    with table.without("low", "changed"):
        table.write(("d", greatest, "high"))
    with table.without("changed"):
        table.write(("u", least, "lower"))
    assert table.rows() == {shown["low"]: "lower", shown["middle"]: "changed"}


def test_without_a_range_all_files_are_read(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the test above shows something; what the mirror has in the end is the same."""
    table = Mirror(session, tmp_path / "t", "int")
    table.write(("c", "1", "low"))
    table.add_file("5", "middle")
    with monkeypatch.context() as patch:
        patch.setattr(mirrors, "key_range", lambda *_: None)
        with table.without("low"), pytest.raises(SinkError, match=r"does not exist|FILE_NOT_EXIST"):
            table.write(("u", "5", "changed"))
        table.batch -= 1
        table.write(("u", "5", "changed"))
        without = table.rows()
    table.write(("u", "5", "changed"))
    assert table.rows() == without == {"1": "low", "5": "changed"}


def test_where_no_file_can_be_left_out_no_job_asks_for_the_range(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables of one file, and small ones."""

    def asked(*_: object) -> None:
        raise AssertionError("the range of the keys is asked for")

    monkeypatch.setattr(mirrors, "key_range", asked)
    table = Mirror(session, tmp_path / "t", "int")
    table.write(("c", "1", "low"))
    table.write(("u", "1", "lower"))
    table.add_file("5", "high")
    with pytest.raises(AssertionError):
        table.write(("u", "5", "higher"))
    monkeypatch.setattr(targets, "LEAST_BYTES", 1 << 20)
    table.write(("u", "5", "higher"))
    assert table.rows() == {"1": "lower", "5": "higher"}


def test_rows_of_any_key_are_found(session: SparkSession, tmp_path: Path) -> None:
    """A key that is null, and one that goes far away; in files that lie apart."""
    table = Mirror(session, tmp_path / "t", "bigint")
    table.write(("c", None, "null"), ("c", "1", "low"))
    table.add_file("500", "middle")
    table.add_file("900", "high")
    table.write(("u", None, "still null"), ("u", "500", "changed"))
    assert table.rows() == {None: "still null", "1": "low", "500": "changed", "900": "high"}
    table.write(("d", "1", "low"), ("c", "901", "moved"), ("u", "500", "again"))
    assert table.rows() == {None: "still null", "901": "moved", "500": "again", "900": "high"}


MAPPED = {"table.delta.columnMapping.mode": "name", "table.delta.enableDeletionVectors": "true"}


@pytest.mark.parametrize("options", [{}, pytest.param(MAPPED, marks=pytest.mark.nightly)])
def test_rows_are_looked_up_in_the_files_that_may_have_their_old_keys(
    session: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Where the log lacks values of a row that has got another key, or of one that took part in that."""
    writers = Writers(session, tmp_path, "mirror", **options)
    sink = writers.sink(int(SPARK))
    for batch, number in enumerate((1, 500, 900)):
        sink.write(writers.frame([("c", number, f"of {number}", f"000{batch}")]), batch)
    lacks = Header(UNAVAILABLE_HEADER, "name")
    moved = event("c", 501, None, headers=(Header(OLD_KEY, key(500), KEY), lacks)).replace(position="0011")
    changes = [event("d", 500, None).replace(position="0010"), moved]
    with without_files(tmp_path / "t", "of 1", "of 900"):
        sink.write(writers.frame_of(writers.packets(changes)), 3)
    assert writers.content("id", "name") == [(1, "of 1"), (501, "of 500"), (900, "of 900")]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("decimal(20,0)", "9007199254740993"),  # there are no bounds of it, as delta-rs would write …992
        pytest.param("decimal(38,10)", "-1234567890123456789.0123456789", marks=pytest.mark.nightly),
        ("timestamp", "1960-01-01 00:00:00.123456"),  # ….123
        pytest.param("timestamp_ntz", "2024-01-01 00:00:00.999999", marks=pytest.mark.nightly),
        ("string", "ä" * 40 + "x" * 200),  # cut
    ],
)
def test_rows_of_the_driver_are_found_by_bounds_that_are_rounded(
    session: SparkSession, tmp_path: Path, kind: str, key: str
) -> None:
    table = Mirror(session, tmp_path / "t", kind)
    table.write(("c", key, "by delta-rs"), small=DRIVER)
    assert "delta-rs" in str(DeltaTable(str(table.path)).history(1)[0]["engineInfo"])
    table.write(("u", key, "by Spark"))
    assert list(table.rows().values()) == ["by Spark"]


def test_spark_finds_rows_of_the_driver_by_numbers_that_are_no_doubles(session: SparkSession, tmp_path: Path) -> None:
    """It trusts the bounds that the log has, as any reader does."""
    table, keys = Mirror(session, tmp_path / "t", "decimal(20,0)"), (1 << 53, (1 << 53) + 1, (1 << 64) - 1)
    for number in keys:
        table.write(("c", str(number), f"of {number}"), small=DRIVER)
    assert "delta-rs" in str(DeltaTable(str(table.path)).history(1)[0]["engineInfo"])
    read = session.read.format("delta").load(str(table.path))
    assert [[row.v for row in read.where(f"k = {number}").collect()] for number in keys] == [
        [f"of {number}"] for number in keys
    ]


@pytest.mark.parametrize(
    ("kind", "least", "greatest"),
    [
        ((15, 2), "1.00", "2.00"),
        ((20, 0), "9007199254740993", "18446744073709551615"),
        ((20, 0), "-9007199254740993", "0"),
        ((38, 10), "-1234567890123456789.0123456789", "9999999999999999999999999999.9999999999"),
        ((38, 38), "0." + "0" * 37 + "1", "0." + "9" * 38),
    ],
)
def test_a_range_of_decimals_meets_what_doubles_make_of_them(kind: tuple[int, int], least: str, greatest: str) -> None:
    low, high = _widened(least, greatest, *kind)
    for text in (low, high):
        _, digits, exponent = Decimal(text).as_tuple()
        assert len(digits) <= kind[0]
        assert -kind[1] <= int(exponent)
    assert Decimal(low) <= min(Decimal(least), Decimal(repr(float(least))))
    assert Decimal(greatest) <= Decimal(high)
    most = Decimal(10 ** kind[0] - 1).scaleb(-kind[1], Context(prec=50))
    assert min(Decimal(repr(float(greatest))), most) <= Decimal(high)
