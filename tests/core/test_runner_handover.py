"""One state for both runners: who knows how far the pipeline has come."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from cdckit.api.record import Offset
from cdckit.api.state_store import StateStore
from cdckit.engine.state.generation import NOTE, Generation
from cdckit.engine.state.runner_handover import hand_to_spark, open_for_planner, open_state
from cdckit.errors import StateError
from testkit.states import offset_in, state_in


@contextmanager
def state(folder: Path) -> Iterator[StateStore]:
    store = open_state(state_in(folder))
    try:
        yield store
    finally:
        store.close()


def hand_over(folder: Path) -> Generation:
    with state(folder) as store:
        return hand_to_spark(store, folder)


def batch(folder: Path, generation: Generation, number: int, end: Offset, *, committed: bool = True) -> None:
    """What Spark leaves of a batch."""
    checkpoint = generation.checkpoint(folder)
    for log, text in (("offsets", f'v1\n{{"conf":{{}}}}\n{json.dumps(end)}'), ("commits", "v1\n{}")):
        if log == "offsets" or committed:
            (checkpoint / log).mkdir(parents=True, exist_ok=True)
            (checkpoint / log / str(number)).write_text(text)
            (checkpoint / log / f".{number}.crc").write_text("x")


def test_what_spark_committed_is_found_by_whoever_comes_next(tmp_path: Path) -> None:
    generation = hand_over(tmp_path)
    assert offset_in(tmp_path) is None
    batch(tmp_path, generation, 9, {"n": 9})
    batch(tmp_path, generation, 10, {"n": 10})
    batch(tmp_path, generation, 11, {"n": 11}, committed=False)
    assert offset_in(tmp_path) == {"n": 10}
    with state(tmp_path) as store:
        assert store.load_offset() == {"n": 10}


def test_a_checkpoint_at_the_stores_offset_is_used_again(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    assert hand_over(tmp_path) == first


def test_a_command_between_two_queries_leaves_the_run_its_checkpoint(tmp_path: Path) -> None:
    """As `cdc resnapshot` while the source is away: nobody holds the state then."""
    generation = hand_over(tmp_path)
    for number in range(2):
        with state(tmp_path) as store:
            store.put("asked", number)
        open_for_planner(state_in(tmp_path), generation.id).close()
        batch(tmp_path, generation, number, {"n": number})
        assert offset_in(tmp_path) == {"n": number}
    assert hand_over(tmp_path) == generation


def test_a_command_that_changes_the_offset_meanwhile_ends_the_run(tmp_path: Path) -> None:
    generation = hand_over(tmp_path)
    batch(tmp_path, generation, 0, {"n": 0})
    with state(tmp_path) as store:
        store.save_offset({"n": 7})
    with pytest.raises(StateError, match="offset was changed while the pipeline ran"):
        open_for_planner(state_in(tmp_path), generation.id)
    assert offset_in(tmp_path) == {"n": 7}
    later = hand_over(tmp_path)
    with pytest.raises(StateError, match="or another run of it"):
        open_for_planner(state_in(tmp_path), generation.id)
    open_for_planner(state_in(tmp_path), later.id).close()


def test_a_batch_that_was_only_planned_belongs_to_its_generation(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1}, committed=False)
    assert hand_over(tmp_path) == first


def test_a_checkpoint_whose_first_note_was_broken_off_is_not_gone_on_with(tmp_path: Path) -> None:
    """Spark refuses: `STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`."""
    first = hand_over(tmp_path)
    notes = first.checkpoint(tmp_path) / "offsets"
    notes.mkdir(parents=True)
    assert hand_over(tmp_path) == first
    (notes / ".0.12aa2454.tmp").touch()
    second = hand_over(tmp_path)
    assert (second.id != first.id, second.start, first.checkpoint(tmp_path).exists()) == (True, None, False)


def test_another_offset_begins_a_new_generation(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    with state(tmp_path) as store:
        store.save_offset({"n": 5})
    second = hand_over(tmp_path)
    assert (second.id != first.id, second.start) == (True, {"n": 5})
    assert not first.checkpoint(tmp_path).exists()
    assert offset_in(tmp_path) == {"n": 5}


def test_forgetting_the_offset_begins_anew(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    with state(tmp_path) as store:
        store.save_offset(None)
    second = hand_over(tmp_path)
    assert (second.id != first.id, second.start) == (True, None)


@pytest.mark.parametrize("text", ["", "v1\n{}\nno json", "v9\n{}\n{}"])
def test_a_damaged_checkpoint_is_told(tmp_path: Path, text: str) -> None:
    generation = hand_over(tmp_path)
    batch(tmp_path, generation, 0, {"n": 1})
    (generation.checkpoint(tmp_path) / "offsets" / "0").write_text(text)
    with pytest.raises(StateError, match=r"offsets/0: .*cdc offsets set"):
        open_state(state_in(tmp_path))


def lose(folder: Path) -> None:
    for path in folder.glob("state.db*"):
        path.unlink()


def test_where_the_state_is_lost_the_checkpoint_tells(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    lose(tmp_path)
    second = hand_over(tmp_path)
    assert (second.id, second.checkpoint(tmp_path).exists()) == (first.id, True)
    with state(tmp_path) as store:
        assert store.load_offset() == {"n": 1}


def test_where_nothing_was_committed_a_lost_state_begins_anew(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1}, committed=False)
    lose(tmp_path)
    assert hand_over(tmp_path).id != first.id


def test_of_several_checkpoints_none_is_guessed(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    shutil.copytree(first.checkpoint(tmp_path), tmp_path / "spark" / "other")
    lose(tmp_path)
    with pytest.raises(StateError, match="has 2 checkpoints"):
        hand_over(tmp_path)


def test_a_checkpoint_that_is_to_stand_elsewhere_is_a_new_one(tmp_path: Path) -> None:
    first, kept = hand_over(tmp_path), tmp_path / "kept"
    batch(tmp_path, first, 0, {"n": 1})
    ids = [first.id]
    for place in (kept, None, kept):
        with state(tmp_path) as store:
            found = hand_to_spark(store, tmp_path, place)
        assert (found.id not in ids, found.start) == (True, {"n": 1})
        ids.append(found.id)
    (kept / found.id).mkdir(parents=True)
    with state(tmp_path) as store:
        assert hand_to_spark(store, tmp_path, kept) == found


def test_a_lost_checkpoint_is_not_begun_anew_under_its_old_name(tmp_path: Path) -> None:
    """A mirror may know batches of that name."""
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    shutil.rmtree(tmp_path / "spark")
    second = hand_over(tmp_path)
    assert (second.id != first.id, second.start) == (True, None)


def test_where_the_checkpoint_is_lost_the_state_tells_how_far_it_had_come(tmp_path: Path) -> None:
    first = hand_over(tmp_path)
    batch(tmp_path, first, 0, {"n": 1})
    with state(tmp_path) as store:
        store.save_offset({"n": 2})  # as the planner does where the store is not on this machine
        store.put(NOTE, asdict(first))
    shutil.rmtree(tmp_path / "spark")
    assert offset_in(tmp_path) == {"n": 2}
    assert hand_over(tmp_path).start == {"n": 2}


def test_or_the_notes_of_one_that_stands_elsewhere_do(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with state(tmp_path) as store:
        first = hand_to_spark(store, tmp_path, kept)
    batch(tmp_path, first, 3, {"n": 4})  # the notes: `kept` has nothing
    with state(tmp_path) as store:
        second = hand_to_spark(store, tmp_path, kept)
    assert (second.id != first.id, second.start) == (True, {"n": 4})
