"""Random histories with what happens around a pipeline: to its tables, to its file, to the way to its source."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Never

import pytest
from _pytest.mark import ParameterSet

from cdckit.engine.state.made_tables import forget
from cdckit.engine.state.sqlite import SqliteStateStore
from histories.endings import DivergedError
from histories.generator import AROUND, KINDS, SMALL_STEPS, history, with_around
from histories.lakes import DeltaMirror, Tables
from histories.playing import Play
from histories.series import EVENTS, SINKS, Series
from histories.steps import CHECK, DELIVER, Step
from histories.switches import ON_SPARK, around_of
from histories.test_histories import UNTOLD
from testkit.servers.mysql_family import SQLServer

EACH_DAY = ("delta", 3128), ("iceberg", 3220)
FEW_SEEDS = range(1, 41)
STEPS = (
    Step("set up", ("CREATE TABLE t (id INT PRIMARY KEY, v INT)",)),
    Step("first rows", ("INSERT INTO t VALUES (1, 1), (2, 2)",)),
    Step(DELIVER),
)


def _histories() -> Iterator[ParameterSet]:
    """30 seeds for each sink of the direct runner's tables, of which `make test` plays two, and eight on Spark."""
    for number, sink in enumerate(sorted({*SINKS} - {*EVENTS})):
        first = 3001 + 30 * number
        for seed in range(first, first + (8 if sink in ON_SPARK else 30)):
            marks = [pytest.mark.timeout(1800)] + ([] if (sink, seed) in EACH_DAY else [pytest.mark.nightly])
            marks += [UNTOLD] if "changelog" in sink else []
            marks += [pytest.mark.spark] if sink in ON_SPARK else []
            yield pytest.param(sink, seed, marks=marks)


@pytest.mark.parametrize(("sink", "seed"), list(_histories()))
def test_the_sink_equals_the_source_whatever_happens_around(
    histories_server: SQLServer,
    sink: str,
    seed: int,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    def nothing() -> Never:
        raise AssertionError("topics are not wanted")

    series = Series(
        histories_server,
        sink,
        tmp_path,
        nothing,
        lambda: request.getfixturevalue("session"),
        shrinks=60,
        small=SMALL_STEPS,
        around=True,
        afterwards=afterwards,
    )
    report = series.report(seed)
    assert not report, report


@pytest.mark.parametrize("sink", sorted({*SINKS} - {*EVENTS}))
def test_they_come_between_the_steps_of_the_seed(sink: str) -> None:
    kinds, found = around_of(sink), set[str]()
    for seed in FEW_SEEDS:
        steps = history(seed, KINDS, small=15)
        all_of_them = with_around(seed, steps, kinds)
        assert all_of_them == with_around(seed, steps, kinds)
        assert [step for step in all_of_them if step in steps] == steps
        assert all_of_them[:2] == steps[:2]
        assert all_of_them[-1] == Step(CHECK)
        found |= {step.kind for step in all_of_them} & AROUND.keys()
    assert found == kinds


@pytest.fixture
def play(histories_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack) -> Play:
    """A history whose one table has been delivered."""
    histories_server.execute(f"CREATE DATABASE {unique_name}")
    play = Play(histories_server, unique_name, tmp_path, DeltaMirror(tmp_path, unique_name, unique_name))
    afterwards.callback(play.drop)
    play.all(STEPS)
    return play


REMOVED = Step("remove", facts={"chance": 1})


def test_a_table_that_is_removed_is_missed_and_read_again(play: Play) -> None:
    play.all((REMOVED, Step(CHECK)))
    assert play.obeyed == 1


@pytest.mark.unequal("the table was removed, and nobody remembers it")
def test_one_that_is_not_missed_is_told_of(play: Play) -> None:
    with closing(SqliteStateStore(play.pipeline().state)) as state:
        forget(state)
    with pytest.raises(DivergedError, match=r"(?s)step 2 \(check\): t: 2 rows expected, 1 found"):
        play.all((REMOVED, Step(CHECK)))


def test_one_that_is_missed_though_nobody_removed_it_is_told_of(play: Play) -> None:
    assert isinstance(play.sink, Tables)
    play.sink.remove("t")
    play.change(["UPDATE t SET v = 3"])
    with pytest.raises(DivergedError, match="of t nobody has removed a table"):
        play.all((Step(CHECK),))
