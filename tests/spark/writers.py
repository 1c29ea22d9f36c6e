"""Who writes a table's batches: Spark, or the driver, which has those of few rows; by the option `small.batch.rows`.

What is the same code for both, such as what stops a batch before it is written, and what `test_two_writers.py` has them
both do to one table, `make test` shows of one of them.
"""

from __future__ import annotations

import pytest

_SPARK, _DRIVER = 0, 1000

BY_EITHER = [pytest.param(_SPARK, id="spark"), pytest.param(_DRIVER, id="driver")]
"""The fixture `lake` for each of them."""
BY_DRIVER = pytest.mark.parametrize(
    "lake",
    [pytest.param(_SPARK, id="spark", marks=pytest.mark.nightly), pytest.param(_DRIVER, id="driver")],
    indirect=True,
)
"""The driver's, and in the long series Spark's."""
BY_SPARK = pytest.mark.parametrize(
    "lake",
    [pytest.param(_SPARK, id="spark"), pytest.param(_DRIVER, id="driver", marks=pytest.mark.nightly)],
    indirect=True,
)
"""Spark's, and in the long series the driver's."""
