"""Whose offset counts where a sink keeps it, too: the sink's, or the state's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.sink import Transactions
from cdckit.api.state_store import StateStore
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.runners.sink_offset import SinkOffset
from cdckit.engine.state.offset_owner import leave_to_state
from cdckit.engine.state.place import StatePlace
from cdckit.errors import SinkError, StateError

_LOCAL, _KEPT = {"at": 1}, {"at": 2}


class Kept(Transactions):
    """Keeps what is committed in memory."""

    interval_ms = None

    def __init__(self, place: Any = None) -> None:
        self.place = place

    def committed(self) -> Any:
        return self.place

    def commit(self, place: Any) -> None:
        self.place = place

    def rollback(self) -> Any:
        return self.place


@pytest.fixture
def pipeline(tmp_path: Path) -> ResolvedPipeline:
    path = tmp_path / "p.json"
    source = {"type": "mysql", "topic.prefix": "p", "database.hostname": "h", "database.user": "u"}
    path.write_text(json.dumps({"source": source, "runner": "direct", "state": str(tmp_path / "state")}))
    return load_pipeline(path)


@pytest.fixture
def state(pipeline: ResolvedPipeline) -> Iterator[StateStore]:
    store = StatePlace.of(pipeline).open()
    yield store
    store.close()


def started(kept: Kept, pipeline: ResolvedPipeline, state: StateStore) -> SinkOffset:
    """What a start of the pipeline settles."""
    offset = SinkOffset(kept, pipeline)
    offset.take_over(state)
    offset.own(state)
    return offset


def ran(pipeline: ResolvedPipeline, state: StateStore, local: Any = _LOCAL, sink: Any = _KEPT) -> Kept:
    """A sink that has an offset of a run before, of which the state has another copy."""
    kept = Kept()
    started(kept, pipeline, state).commit(sink)
    state.save_offset(local)
    return kept


def test_the_sinks_counts_after_a_kill_between_the_two(pipeline: ResolvedPipeline, state: StateStore) -> None:
    kept = ran(pipeline, state)
    assert started(kept, pipeline, state).committed == _KEPT
    assert state.load_offset() == _KEPT


def test_the_sinks_counts_where_the_state_was_lost(pipeline: ResolvedPipeline, state: StateStore) -> None:
    kept = ran(pipeline, state, local=None)
    state.put("offset_owner", None)
    assert started(kept, pipeline, state).committed == _KEPT
    assert state.get("made_for")["source"]["source.topic.prefix"] == "p"


def test_the_states_counts_in_the_first_run(pipeline: ResolvedPipeline, state: StateStore) -> None:
    state.save_offset(_LOCAL)
    kept = Kept()
    assert started(kept, pipeline, state).committed == _LOCAL
    assert kept.place["offset"] == _LOCAL


@pytest.mark.parametrize("local", [_LOCAL, None])
@pytest.mark.parametrize("chosen", [True, False])
def test_the_states_counts_where_it_was_saved_without_the_sink(
    pipeline: ResolvedPipeline, state: StateStore, local: Any, chosen: bool
) -> None:
    kept = ran(pipeline, state, local=local)
    leave_to_state(state, chosen=chosen)
    assert started(kept, pipeline, state).committed == local
    assert kept.place["offset"] == local


def test_a_sink_that_lost_its_offset_is_told_of(pipeline: ResolvedPipeline, state: StateStore) -> None:
    kept = ran(pipeline, state)
    kept.place = None
    with pytest.raises(StateError, match=r"the sink has lost the offset of pipeline 'p'.*cdc offsets keep FILE"):
        started(kept, pipeline, state)
    leave_to_state(state, chosen=True)
    assert started(kept, pipeline, state).committed == _LOCAL


def test_two_that_know_nothing_of_each_other_are_refused(pipeline: ResolvedPipeline, state: StateStore) -> None:
    kept = ran(pipeline, state)
    state.put("offset_owner", None)
    with pytest.raises(StateError, match=r"another one that was saved without it.*cdc offsets keep FILE"):
        started(kept, pipeline, state)


def test_what_is_damaged_is_told(pipeline: ResolvedPipeline, state: StateStore) -> None:
    with pytest.raises(SinkError, match="damaged"):
        started(Kept({"no": "offset"}), pipeline, state)
