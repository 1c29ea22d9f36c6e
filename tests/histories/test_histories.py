"""Random histories: after whatever happened at a source, what a sink holds comes to the source's rows.

A failure names its seed, and prints the fewest steps in which it fails; more seeds, or those steps again:

    PYTHONPATH=tests .venv/bin/python -m histories --sink mirror --first 1000 --count 50
    PYTHONPATH=tests .venv/bin/python -m histories --sink mirror --replay FILE
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Never

import pytest
from _pytest.mark import ParameterSet

from histories.generator import SMALL_STEPS
from histories.series import Series
from histories.switches import LAKES, PATHS
from testkit.servers.mysql_family import SQLServer

SMALL = range(1, 41)
EACH_DAY = range(1, 17)
"""Those of the small ones that `make test` plays, but for Spark's."""
LONG = range(41, 241)
CHANGELOGS = range(241, 261)
DELTA = range(261, 311)
DELTA_SMALL = range(261, 264)
DELTA_CHANGELOGS = range(311, 321)
ICEBERG = range(321, 371)
ICEBERG_SMALL = range(321, 322)
ICEBERG_CHANGELOGS = range(371, 381)
VERSIONS = range(381, 401)
ON_SPARK = {path: range(first, first + 25) for path, first in zip(PATHS, range(401, 626, 25), strict=True)}
UNTOLD = pytest.mark.unequal(
    "events and rows of changelogs lack what a later column gave them, and no event tells of DROP and RENAME",
    always=False,
)
"""Histories change definitions at random; the check of their own folds by these."""
_SINKS = ("mirror", "file", "kafka", "file", "kafka", "file", "kafka", "file")


def _tables() -> Iterator[ParameterSet]:
    """Each seed with the sink, of tables that the direct runner keeps, and by further paths on Spark."""
    series = {
        "delta": DELTA,
        "delta-changelog": DELTA_CHANGELOGS,
        "iceberg": ICEBERG,
        "iceberg-changelog": ICEBERG_CHANGELOGS,
        "delta-history": VERSIONS,
        "iceberg-history": VERSIONS,
        **ON_SPARK,
    }
    for sink, seeds in series.items():
        for seed in seeds:
            marks = [pytest.mark.timeout(1800), *([] if _is_small(seed) else [pytest.mark.nightly])]
            marks += [UNTOLD] if "changelog" in sink else []
            marks += [pytest.mark.spark] if sink in PATHS else []
            yield pytest.param(sink, seed, marks=marks, id=f"{sink}-{seed}")


def _is_small(seed: int) -> bool:
    return seed in DELTA_SMALL or seed in ICEBERG_SMALL


def _histories() -> list[ParameterSet]:
    """Each seed with the sink that it is for."""
    found = []
    for seed in (*SMALL, *LONG, *CHANGELOGS):
        sink = "changelog" if seed in CHANGELOGS else _SINKS[seed % len(_SINKS)]
        marks = [pytest.mark.timeout(1800)]
        marks += [pytest.mark.nightly] if seed not in EACH_DAY or sink in LAKES else []
        marks += [pytest.mark.spark] if sink in LAKES else []
        marks += [] if sink == "mirror" else [UNTOLD]
        found.append(pytest.param(sink, seed, marks=marks, id=f"{sink}-{seed}"))
    return found


@pytest.mark.parametrize(("sink", "seed"), [*_histories(), *_tables()])
def test_the_sink_equals_the_source(
    histories_server: SQLServer,
    sink: str,
    seed: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    series = Series(
        histories_server,
        sink,
        tmp_path,
        lambda: request.getfixturevalue("kafka_broker"),
        lambda: request.getfixturevalue("session"),
        shrinks=60,
        small=SMALL_STEPS if seed in SMALL or _is_small(seed) else None,
        afterwards=afterwards,
    )
    report = series.report(seed)
    assert not report, report


@UNTOLD
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [*range(1, 5), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(5, 51))])
def test_the_file_equals_mariadb(
    histories_mariadb: SQLServer, seed: int, tmp_path: Path, afterwards: ExitStack
) -> None:
    """Statements that MariaDB does not know have not happened."""

    def nothing() -> Never:
        raise AssertionError("neither topics nor lakes are wanted")

    series = Series(histories_mariadb, "file", tmp_path, nothing, nothing, small=SMALL_STEPS, afterwards=afterwards)
    report = series.report(seed)
    assert not report, report
