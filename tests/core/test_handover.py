"""Which of the two goes on at a start: whoever has begun a batch that tables may have parts of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from cdckit.api.state_store import StateStore
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.runners.handover import Handover
from cdckit.engine.runners.spark_start import SparkStart
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.begun_tables import Begun, refuse_anothers
from cdckit.engine.state.runner_handover import hand_to_spark, note_unbegun, open_state
from cdckit.engine.state.table_batches import TableBatches
from cdckit.errors import StateError
from testkit.states import state_in


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateStore]:
    """Of a pipeline that Spark was killed in: it has committed batch 0, and planned batch 1."""
    store = open_state(state_in(tmp_path))
    checkpoint = hand_to_spark(store, tmp_path).checkpoint(tmp_path)
    store.close()
    for log, number in (("offsets", 0), ("commits", 0), ("offsets", 1)):
        (checkpoint / log).mkdir(parents=True, exist_ok=True)
        (checkpoint / log / str(number)).write_text(f"v1\n{{}}\n{json.dumps({'n': number})}")
    store = open_state(state_in(tmp_path))
    yield store
    store.close()


def handover(*, settled: bool) -> Handover:
    figures = Figures("p", "mysql", "p", "direct")
    return Handover(SparkStart(cast(Any, None), StopSignal()), figures, 1.0, settled=settled)


def test_spark_finishes_what_it_was_killed_in(state: StateStore, tmp_path: Path) -> None:
    asked = handover(settled=False)
    assert asked.is_sparks(state, tmp_path)
    assert asked.given


def test_a_batch_that_spark_refused_to_begin_is_anybodys(state: StateStore, tmp_path: Path) -> None:
    asked = handover(settled=True)
    assert not asked.is_sparks(state, tmp_path)
    assert not asked.given


def test_a_direct_process_finishes_what_it_was_killed_in(state: StateStore, tmp_path: Path) -> None:
    TableBatches(state, state.load_offset()).begin({"": "0001"})
    assert not handover(settled=False).is_sparks(state, tmp_path)


def test_behind_a_saved_offset_nothing_of_spark_is_left(state: StateStore, tmp_path: Path) -> None:
    state.save_offset({"n": 5})
    assert not handover(settled=False).is_sparks(state, tmp_path)


@pytest.mark.parametrize("begun", ["direct", "spark"])
def test_the_other_runner_refuses_a_batch_of_tables(state: StateStore, tmp_path: Path, begun: Begun) -> None:
    if begun == "direct":
        TableBatches(state, state.load_offset()).plan({"n": 3})
    other: Begun = "spark" if begun == "direct" else "direct"
    refuse_anothers(begun, state, tmp_path)
    with pytest.raises(StateError, match=f"'runner: {begun}'.*broken off.*set 'runner: {begun}', cdc run FILE --once"):
        refuse_anothers(other, state, tmp_path)
    state.save_offset({"n": 5})
    refuse_anothers(other, state, tmp_path)


def test_a_batch_that_was_planned_and_not_begun_is_anybodys_until_spark_goes_on(
    state: StateStore, tmp_path: Path
) -> None:
    """As where it was asked to stop meanwhile."""
    note_unbegun(state, tmp_path)
    refuse_anothers("direct", state, tmp_path)
    assert not handover(settled=False).is_sparks(state, tmp_path)
    hand_to_spark(state, tmp_path)
    with pytest.raises(StateError, match="broken off"):
        refuse_anothers("direct", state, tmp_path)
