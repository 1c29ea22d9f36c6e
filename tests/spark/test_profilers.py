"""The results of profilers that a process of Spark's sends for a call of the data source."""

from __future__ import annotations

import cProfile
from collections.abc import Iterator

import pytest
from pyspark.accumulators import Accumulator, _accumulatorRegistry, _deserialize_accumulator
from pyspark.sql.profiler import _ProfileResultsParam

from cdckit.engine.spark.datasource import CdckitDataSource


@pytest.fixture
def kept() -> Iterator[dict[int, Accumulator[object]]]:
    """What is sent, as a process has it that has begun with a call; what it has is put back after the test."""
    before = dict(_accumulatorRegistry)
    _accumulatorRegistry.clear()
    for number in (-1, -2, 7):
        _deserialize_accumulator(number, {}, _ProfileResultsParam())
    yield _accumulatorRegistry
    _accumulatorRegistry.clear()
    _accumulatorRegistry.update(before)


def test_nothing_is_told_of_profilers_that_do_not_run(kept: dict[int, Accumulator[object]]) -> None:
    """`spark-pipelines` of Spark 4.2 ends with an error by what it is told of them."""
    with pytest.raises(Exception, match=r"source"):
        CdckitDataSource({}).schema()
    assert list(kept) == [7]


def test_results_of_a_profiler_are_sent(kept: dict[int, Accumulator[object]]) -> None:
    with cProfile.Profile(), pytest.raises(Exception, match=r"source"):
        CdckitDataSource({}).schema()
    assert list(kept) == [-1, -2, 7]
