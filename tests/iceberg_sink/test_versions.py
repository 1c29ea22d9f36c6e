"""Every version of the rows of a database, in Iceberg tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from delta_sink import versions
from delta_sink.shop import Shop
from iceberg_sink.reading import by_duckdb
from iceberg_sink.test_evolution import target_in
from iceberg_sink.test_tables import assert_read_alike, lake_of
from spark.shop import random_seed

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def history(shop: Shop) -> Iterator[Shop]:
    """A database whose rows' versions are kept."""
    yield replace(shop, mode="history")


def test_the_rows_of_each_time_are_told(history: Shop) -> None:
    versions.past_is_kept(history, random_seed())
    assert_read_alike(history, *versions.WATCHED)


@pytest.mark.parametrize(
    "spills", [pytest.param(False, id="memory", marks=pytest.mark.nightly), pytest.param(True, id="files")]
)
def test_tables_are_read_again(history: Shop, spills: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if spills:
        versions.hold_little(monkeypatch)
    versions.reading_again_makes_no_versions(history)


def test_tables_that_took_others_rows(history: Shop) -> None:
    versions.tables_that_took_others_rows(history)


def test_whole_tables_end(history: Shop) -> None:
    versions.whole_tables_end(history)


def test_values_that_the_log_lacks(history: Shop) -> None:
    versions.values_that_the_log_lacks(history)
    table = lake_of(history).table("t")
    found = duckdb.from_arrow(table.scan().to_arrow()).filter("__valid_to is null").project("id, v, w").order("id")
    assert found.fetchall() == [(1, 5, "b"), (2, 10, "c")]
    assert len(by_duckdb(table)) == 7


def test_versions_end_once(tmp_path: Path) -> None:
    versions.versions_end_once(target_in(tmp_path))
