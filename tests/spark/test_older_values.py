"""What a table's older rows get when its columns change, once, wherever the process ends in between."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.tables.evolution import Evolution
from cdckit.tables.layout import POSITION, Layout
from cdckit.tables.policy import Policy
from cdckit.tables.target import Columns
from cdckit_spark.config import LakeConfig
from cdckit_spark.targets import DeltaTarget

pytestmark = pytest.mark.spark

OLD = Layout("rows", "shop.people", (("id", "int"), (POSITION, "string")), ("id",))
NEW = Layout(
    "rows",
    "shop.people",
    (("id", "int"), ("n", "int"), ("b", "binary"), ("each", "int"), (POSITION, "string")),
    ("id",),
    older=(("n", "5"), ("b", "00ff"), ("each", None)),
)
SIGNED = Layout("rows", "shop.numbers", (("id", "bigint"), ("n", "bigint"), (POSITION, "string")), ("id",))
UNSIGNED = Layout(
    "rows", "shop.numbers", (("id", "decimal(20,0)"), ("n", "decimal(20,0)"), (POSITION, "string")), ("id",)
)


class KilledError(Exception):
    """Stands for the end of the process."""


class Killed(DeltaTarget):
    """A table at which the process ends before or behind one of the steps."""

    step = ""

    def add_columns(self, columns: Columns) -> None:
        self._at("before adding")
        super().add_columns(columns)

    def update(self, values: Mapping[str, str], where: str | None = None) -> None:
        self._at("before the rows")
        super().update(values, where)
        self._at("behind the rows")

    def _at(self, step: str) -> None:
        if step == self.step:
            raise KilledError


def evolution(session: SparkSession, folder: Path, step: str = "") -> Evolution[Killed]:
    target = Killed(session, LakeConfig(path=str(folder), mode="mirror"), "t")
    target.step = step
    return Evolution(target, Policy(mirror=True))


@pytest.mark.parametrize(
    "step",
    [
        "before the rows",
        *(pytest.param(step, marks=pytest.mark.nightly) for step in ("before adding", "behind the rows")),
    ],
)
def test_older_rows_get_a_columns_value_once(
    step: str, session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    evolution(session, tmp_path).follow([("1", OLD)])
    path = str(tmp_path / "t")
    session.sql(f"insert into delta.`{path}` values (1, '1')")
    with pytest.raises(KilledError):
        evolution(session, tmp_path, step).follow([("2", NEW)])
    with caplog.at_level("INFO", "cdckit.tables"):
        again = evolution(session, tmp_path)
        again.follow([("2", NEW)])
    assert "column 'n' was added with '5': its older rows have that" in caplog.text
    session.sql(f"insert into delta.`{path}` (id, n, {POSITION}) values (2, null, '3')")
    evolution(session, tmp_path).follow([("2", NEW)])
    rows = session.read.format("delta").load(path).select("id", "n", "b", "each").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [(1, 5, b"\x00\xff", None), (2, None, None, None)]
    assert again.fitting.missing("1", OLD) == {"n": "5", "b": "00ff"}


def test_a_table_of_an_older_version_gets_decimals_for_unsigned_numbers(session: SparkSession, tmp_path: Path) -> None:
    """Whose numbers from 2^63 on it has as negative ones; where the process ends in between, too."""
    path = str(tmp_path / "t")
    session.sql(f"create table delta.`{path}` (id bigint, n bigint, {POSITION} string) using delta")
    session.sql(f"insert into delta.`{path}` values (1, -1, '1'), (-9223372036854775808, 7, '1'), (2, null, '1')")
    with pytest.raises(KilledError):
        evolution(session, tmp_path, "before the rows").follow([("2", UNSIGNED)])
    evolution(session, tmp_path).follow([("2", UNSIGNED)])
    rows = session.read.format("delta").load(path).select("id", "n").orderBy("id").collect()
    assert [tuple(row) for row in rows] == [
        (Decimal(1), Decimal(2**64 - 1)), (Decimal(2), None), (Decimal(2**63), Decimal(7)),
    ]  # fmt: skip


def test_a_signed_column_that_becomes_unsigned_is_widened(session: SparkSession, tmp_path: Path) -> None:
    evolution(session, tmp_path).follow([("1", SIGNED)])
    again = evolution(session, tmp_path)
    again.follow([("2", UNSIGNED)])
    assert again.target.columns() == {"id": "decimal(20,0)", "n": "decimal(20,0)", POSITION: "string"}
