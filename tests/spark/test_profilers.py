"""The results of profilers that a process of Spark's sends for a call of the data source."""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Iterator

import pytest
from pyspark.accumulators import Accumulator, _accumulatorRegistry, _deserialize_accumulator
from pyspark.sql.profiler import _ProfileResultsParam
from pyspark.sql.types import StructType

from cdckit.engine.spark.datasource import CdckitDataSource

Kept = dict[int, Accumulator[object]]


def tell_of_profilers() -> None:
    """As Spark does before a call."""
    _accumulatorRegistry.clear()
    for number in (-1, -2, 7):
        _deserialize_accumulator(number, {}, _ProfileResultsParam())


@pytest.fixture
def kept() -> Iterator[Kept]:
    """What is sent, as a process has it that has begun with a call; what it has is put back after the test."""
    before = dict(_accumulatorRegistry)
    tell_of_profilers()
    yield _accumulatorRegistry
    _accumulatorRegistry.clear()
    _accumulatorRegistry.update(before)


CALLS: dict[str, Callable[[CdckitDataSource], object]] = {
    "schema": lambda source: source.schema(),
    "reader": lambda source: source.reader(StructType()),
    "streamReader": lambda source: source.streamReader(StructType()),
    "writer": lambda source: source.writer(StructType(), overwrite=False),
    "streamWriter": lambda source: source.streamWriter(StructType(), overwrite=False),
}
"""What Spark calls of a data source, each in a process that may have got it ready made."""


@pytest.mark.parametrize("call", list(CALLS))
def test_nothing_is_told_of_profilers_that_do_not_run(kept: Kept, call: str) -> None:
    """`spark-pipelines` of Spark 4.2 ends with an error by what it is told of them."""
    source = CdckitDataSource({})
    tell_of_profilers()
    with pytest.raises(Exception, match=r"source|sink|topic"):
        CALLS[call](source)
    assert list(kept) == [7]


def test_nothing_is_told_where_a_data_source_is_made(kept: Kept) -> None:
    CdckitDataSource({})
    assert list(kept) == [7]


def test_results_of_a_profiler_are_sent(kept: Kept) -> None:
    with cProfile.Profile(), pytest.raises(Exception, match=r"source"):
        CdckitDataSource({}).schema()
    assert list(kept) == [-1, -2, 7]
