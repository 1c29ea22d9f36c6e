"""Every version of the rows of a database, in Delta tables without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cdckit import ConfigError
from cdckit.tables.delta.target import DeltaTarget
from cdckit_delta.config import DeltaConfig
from cdckit_spark.config import LakeConfig
from delta_sink import versions
from delta_sink.shop import Shop
from delta_sink.test_tables import DEFINITIONS, ROWS, TABLES
from spark.shop import random_seed

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def history(shop: Shop) -> Iterator[Shop]:
    """A database whose rows' versions are kept."""
    yield replace(shop, mode="history")


def test_what_has_no_end_equals_the_source(history: Shop) -> None:
    history.run(TABLES)
    history.deliver()
    history.assert_equal(["a", "pairs", "free"])
    history.run(ROWS)
    history.deliver()
    history.assert_equal(["a", "pairs", "free"])
    history.run(DEFINITIONS)
    history.deliver()
    history.assert_equal(["a", "pairs", "free", "later"])
    versions.assert_whole(history)


def test_the_rows_of_each_time_are_told(history: Shop) -> None:
    versions.past_is_kept(history, random_seed())


@pytest.mark.parametrize(
    "spills", [pytest.param(False, id="memory"), pytest.param(True, id="files", marks=pytest.mark.nightly)]
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


def test_versions_end_once(tmp_path: Path) -> None:
    versions.versions_end_once(DeltaTarget(str(tmp_path), {}, "t"))


def test_changes_do_not_wait_beside_a_history() -> None:
    with pytest.raises(ConfigError, match=r"'commit\.interval\.ms' gathers changes of a history"):
        DeltaConfig.load({"path": "lake", "mode": "history", "mirror.apply.interval.ms": 5}, "sink")


def test_spark_keeps_no_histories() -> None:
    made, _ = LakeConfig.load({"path": "lake", "mode": "history"}, "sink")
    assert made.not_on_spark() == {"mode": "'history' is kept by the sinks 'delta' and 'iceberg', on either runner"}
